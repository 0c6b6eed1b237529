/**
 * Reads back what a PDF says and where: pages, fonts, and each piece of text with its place and width. Only what pdfkit
 * writes: classic objects, Flate streams, composite fonts with a ToUnicode map (ISO 32000-1, sections 7.3, 9.4, 9.7 and
 * 9.10).
 */
import { inflateSync } from 'node:zlib';

export interface PdfText {
  readonly page: number;
  readonly text: string;
  /** Points from the left, baseline from the top. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly size: number;
  /** The marked content that it stands in; null: none. */
  readonly mark: number | 'Artifact' | null;
}

/** An element of the structure tree (ISO 32000-1, section 14.7.2). */
export interface PdfElement {
  readonly type: string;
  readonly alt: string | null;
  readonly scope: string | null;
  readonly elements: readonly PdfElement[];
  /** Page and number of the marked contents that are its own. */
  readonly marks: readonly { readonly page: number; readonly mark: number }[];
}

export interface PdfFont {
  readonly name: string;
  readonly isEmbedded: boolean;
}

interface Font extends PdfFont {
  readonly unicode: ReadonlyMap<number, string>;
  readonly widths: readonly number[];
}

type Matrix = readonly [number, number, number, number, number, number];

const IDENTITY: Matrix = [1, 0, 0, 1, 0, 0];
const times = ([a, b, c, d, e, f]: Matrix, [A, B, C, D, E, F]: Matrix): Matrix => [
  a * A + b * C,
  a * B + b * D,
  c * A + d * C,
  c * B + d * D,
  e * A + f * C + E,
  e * B + f * D + F,
];

export class Pdf {
  readonly objects = new Map<number, { readonly text: string; readonly stream: Buffer | null }>();
  readonly fonts: readonly PdfFont[];
  readonly pages: number;
  private readonly pageIds: readonly number[];
  readonly texts: readonly PdfText[];

  constructor(bytes: Uint8Array) {
    const source = Buffer.from(bytes);
    const latin = source.toString('latin1');
    for (const match of latin.matchAll(/(\d+) 0 obj\n([\s\S]*?)\nendobj/g)) {
      const [, id = '', body = ''] = match;
      const at = body.indexOf('\nstream\n');
      const text = at < 0 ? body : body.slice(0, at);
      const raw = at < 0 ? null : Buffer.from(body.slice(at + 8, body.lastIndexOf('\nendstream')), 'latin1');
      this.objects.set(Number(id), {
        text,
        stream: raw === null ? null : text.includes('FlateDecode') ? inflateSync(raw) : raw,
      });
    }
    const fonts = new Map(
      [...this.objects]
        .filter(([, { text }]) => /\/Subtype \/Type0/.test(text))
        .map(([id, { text }]) => [id, this.font(text)]),
    );
    this.fonts = [...fonts.values()];
    const kids =
      /\/Kids \[([^\]]*)\]/.exec(
        [...this.objects.values()].find(({ text }) => text.includes('/Type /Pages'))?.text ?? '',
      )?.[1] ?? '';
    this.pageIds = [...kids.matchAll(/(\d+) 0 R/g)].map(([, id]) => Number(id));
    const pages = this.pageIds.map((id) => this.text(id));
    this.pages = pages.length;
    this.texts = pages.flatMap((page, at) => this.textsOf(page, at + 1, fonts));
  }

  private text(id: number): string {
    return this.objects.get(id)?.text ?? '';
  }

  /** The structure tree; empty where the document has none. */
  structure(): PdfElement[] {
    const root = [...this.objects.values()].find(({ text }) => text.includes('/Type /StructTreeRoot'))?.text ?? '';
    return this.kidsOf(root).map((id) => this.element(id));
  }

  private element(id: number): PdfElement {
    const text = this.text(id);
    const own = this.reference(text, 'Pg');
    const list = /\/K \[([\s\S]*?)\]\n/.exec(`${text}\n`)?.[1] ?? '';
    const further = [...list.matchAll(/\/Pg (\d+) 0 R\s*\/MCID (\d+)/g)].map(([, page, mark]) => ({
      page: this.pageIds.indexOf(Number(page)) + 1,
      mark: Number(mark),
    }));
    const plain = list.replace(/<<[\s\S]*?>>/g, '').replace(/\d+ 0 R/g, '');
    return {
      type: /\/S \/(\w+)/.exec(text)?.[1] ?? '',
      alt: /\/Alt \(/.exec(text) === null ? null : 'there',
      scope: /\/Scope \/(\w+)/.exec(text)?.[1] ?? null,
      elements: this.kidsOf(text).map((kid) => this.element(kid)),
      marks: [
        ...[...plain.matchAll(/\d+/g)].map(([mark]) => ({ page: this.pageIds.indexOf(own) + 1, mark: Number(mark) })),
        ...further,
      ],
    };
  }

  private kidsOf(text: string): number[] {
    const list = /\/K \[([\s\S]*?)\]\n/.exec(`${text}\n`)?.[1] ?? '';
    return [...list.replace(/<<[\s\S]*?>>/g, '').matchAll(/(\d+) 0 R/g)].map(([, id]) => Number(id));
  }

  private reference(text: string, name: string): number {
    return Number(new RegExp(`/${name} \\[?\\s*(\\d+) 0 R`).exec(text)?.[1] ?? -1);
  }

  private font(text: string): Font {
    const descendant = this.text(this.reference(text, 'DescendantFonts'));
    const descriptor = this.text(this.reference(descendant, 'FontDescriptor'));
    const unicode = new Map<number, string>();
    const map = this.objects.get(this.reference(text, 'ToUnicode'))?.stream?.toString('latin1') ?? '';
    for (const [, from = '', list = ''] of map.matchAll(/<([0-9a-f]+)> <[0-9a-f]+> \[([^\]]*)\]/gi)) {
      [...list.matchAll(/<([0-9a-f ]*)>/gi)].forEach(([, hex = ''], at) =>
        unicode.set(parseInt(from, 16) + at, Buffer.from(hex.replaceAll(' ', ''), 'hex').swap16().toString('utf16le')),
      );
    }
    const widths = (/\/W \[0 \[([^\]]*)\]/.exec(descendant)?.[1] ?? '').trim().split(/\s+/).map(Number);
    const file = this.objects.get(this.reference(descriptor, 'FontFile2'));
    return {
      name: /\/BaseFont \/(\S+)/.exec(text)?.[1] ?? '',
      isEmbedded: (file?.stream?.length ?? 0) > 0,
      unicode,
      widths,
    };
  }

  private textsOf(page: string, number: number, fonts: ReadonlyMap<number, Font>): PdfText[] {
    const height = Number(/\/MediaBox \[0 0 [\d.]+ ([\d.]+)\]/.exec(page)?.[1] ?? 0);
    const resources = this.text(this.reference(page, 'Resources'));
    const names = new Map(
      [...(/\/Font <<([\s\S]*?)>>/.exec(resources)?.[1] ?? '').matchAll(/\/(\w+) (\d+) 0 R/g)].map(
        ([, name = '', id]) => [name, fonts.get(Number(id))],
      ),
    );
    const content = (this.objects.get(this.reference(page, 'Contents'))?.stream?.toString('latin1') ?? '').replace(
      /<<([^>]*)>> BDC/g,
      (_, inner: string) => `<<${inner.replaceAll('\n', ' ')}>> BDC`,
    );
    const marks: PdfText['mark'][] = [];
    const found: PdfText[] = [];
    let [matrix, line, font, size]: [Matrix, Matrix, Font | undefined, number] = [IDENTITY, IDENTITY, undefined, 0];
    const stack: Matrix[] = [];
    for (const [, operands = '', operator] of content.matchAll(
      /([^\n]*?)(?:^|\s|(?<=\]))(cm|q|Q|BT|Tm|Tf|TJ|Tj|BDC|BMC|EMC)(?=\s|$)/gm,
    )) {
      const numbers = operands.trim().split(/\s+/).map(Number);
      if (operator === 'BDC' || operator === 'BMC') {
        const id = /\/MCID (\d+)/.exec(operands)?.[1];
        marks.unshift(id === undefined ? (operands.includes('/Artifact') ? 'Artifact' : null) : Number(id));
      } else if (operator === 'EMC') marks.shift();
      else if (operator === 'q') stack.push(matrix);
      else if (operator === 'Q') matrix = stack.pop() ?? IDENTITY;
      else if (operator === 'cm') matrix = times(numbers.slice(-6) as unknown as Matrix, matrix);
      else if (operator === 'BT') line = IDENTITY;
      else if (operator === 'Tm') line = numbers.slice(-6) as unknown as Matrix;
      else if (operator === 'Tf') {
        const [, name = '', points] = /\/(\w+) ([\d.]+)\s*$/.exec(operands.trim()) ?? [];
        [font, size] = [names.get(name), Number(points)];
      } else if (font !== undefined) {
        const at = times(line, matrix);
        const read = shown(operands, font);
        found.push({
          page: number,
          text: read.text,
          x: at[4],
          y: height - at[5],
          width: (read.units / 1000) * size * Math.hypot(at[0], at[1]),
          size: size * Math.hypot(at[2], at[3]),
          mark: marks[0] ?? null,
        });
      }
    }
    return found;
  }
}

/** The letters of a TJ's array and how far they go, in thousandths of the size. */
function shown(operands: string, { unicode, widths }: Font): { readonly text: string; readonly units: number } {
  let [text, units] = ['', 0];
  for (const [, hex = '', shift] of operands.matchAll(/<([0-9a-f]*)>|(-?[\d.]+)/gi)) {
    if (shift !== undefined) units -= Number(shift);
    for (const [letter] of hex.matchAll(/.{4}/g)) {
      const glyph = parseInt(letter, 16);
      text += unicode.get(glyph) ?? '\ufffd';
      units += widths[glyph] ?? 0;
    }
  }
  return { text, units };
}

/**
 * Pairs of texts on one page that lie over each other; what stands side by side touches at most, or is kerned: pictures
 * come letter by letter.
 */
export function overlapping(texts: readonly PdfText[]): string[] {
  return texts.flatMap((a, at) =>
    texts.slice(at + 1).flatMap((b) => {
      const apart =
        a.page !== b.page ||
        a.text.trim() === '' ||
        b.text.trim() === '' ||
        a.x + a.width <= b.x + 0.1 * a.size ||
        b.x + b.width <= a.x + 0.1 * b.size ||
        a.y - 0.7 * a.size >= b.y + 0.15 * b.size ||
        b.y - 0.7 * b.size >= a.y + 0.15 * a.size;
      return apart ? [] : [`page ${a.page}: "${a.text}" over "${b.text}"`];
    }),
  );
}
