/** Reads the PNGs that tests are given: eight bits per channel, RGBA, not interlaced, as the rasteriser writes them. */
import { inflateSync } from 'node:zlib';

type Colour = readonly [red: number, green: number, blue: number];

export interface DecodedPng {
  readonly width: number;
  readonly height: number;
  at(x: number, y: number): Colour;
  /** Pixels of exactly this colour. */
  count(colour: Colour): number;
}

const SIGNATURE = '89504e470d0a1a0a';
const CHANNELS = 4;

/** PNG (W3C, third edition), sections 5, 7 and 9. @throws Error for what is no PNG of this kind */
export function decodePng(bytes: Buffer): DecodedPng {
  if (bytes.toString('hex', 0, 8) !== SIGNATURE) throw new Error('it is no PNG');
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  if (bytes.toString('hex', 24, 29) !== '0806000000') throw new Error('it is not RGBA with eight bits');
  const data: Buffer[] = [];
  for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT')
      data.push(bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)));
  }
  const pixels = unfiltered(inflateSync(Buffer.concat(data)), width * CHANNELS, height);
  const at = (x: number, y: number): Colour => {
    const start = (y * width + x) * CHANNELS;
    return [pixels[start] ?? -1, pixels[start + 1] ?? -1, pixels[start + 2] ?? -1];
  };
  return {
    width,
    height,
    at,
    count(colour) {
      let found = 0;
      for (let start = 0; start < pixels.length; start += CHANNELS)
        if (colour.every((value, channel) => pixels[start + channel] === value)) found++;
      return found;
    },
  };
}

function unfiltered(raw: Buffer, stride: number, height: number): Uint8Array {
  const out = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x++) {
      const left = x < CHANNELS ? 0 : (out[y * stride + x - CHANNELS] ?? 0);
      const up = y === 0 ? 0 : (out[(y - 1) * stride + x] ?? 0);
      const corner = x < CHANNELS || y === 0 ? 0 : (out[(y - 1) * stride + x - CHANNELS] ?? 0);
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      out[y * stride + x] = (raw[y * (stride + 1) + 1 + x] ?? 0) + predicted;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
