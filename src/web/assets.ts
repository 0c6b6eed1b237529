/**
 * The built dashboard: a page, and files with a content hash in their names.
 *
 * All files are read once, on first use, and only those that the build listed: no path of a request ever reaches the
 * file system.
 */
import { readFile } from 'node:fs/promises';
import { missing } from '../core/errors.js';

const ENCODINGS = ['br', 'gzip'] as const;
export type Encoding = (typeof ENCODINGS)[number] | 'identity';

export interface Asset {
  readonly type: string;
  readonly bodies: Readonly<Record<Encoding, Buffer>>;
}

/** Name of the page in the manifest. */
export const PAGE = 'index.html';

/** Written by scripts/build-dashboard.mjs: media types by name. Compressed copies lie beside each file. */
type Manifest = Readonly<Record<string, string>>;

const SUFFIX: Readonly<Record<Encoding, string>> = { identity: '', gzip: '.gz', br: '.br' };

export class Assets {
  private files: Promise<ReadonlyMap<string, Asset>> | null = null;

  /** @param folder ends in a slash */
  constructor(private readonly folder: URL) {}

  /** @throws Failure missing for a name that the build did not make, or where nothing was built. */
  async get(name: string): Promise<Asset> {
    this.files ??= this.read().catch((error: unknown) => {
      this.files = null;
      throw error;
    });
    const asset = (await this.files).get(name);
    if (asset === undefined) throw missing(`there is no file ${name}`);
    return asset;
  }

  /** The name of the file with this start and end. Null: there is none, or nothing was built. */
  async named(start: string, end: string): Promise<string | null> {
    this.files ??= this.read();
    const all = await this.files.catch(() => {
      this.files = null;
      return new Map<string, Asset>();
    });
    return [...all.keys()].find((name) => name.startsWith(start) && name.endsWith(end)) ?? null;
  }

  private async read(): Promise<ReadonlyMap<string, Asset>> {
    const text = await readFile(new URL('manifest.json', this.folder), 'utf8').catch(() => {
      throw missing('the dashboard has not been built: npm run build does it');
    });
    const manifest = JSON.parse(text) as Manifest;
    return new Map(
      await Promise.all(
        Object.entries(manifest).map(async ([name, type]): Promise<[string, Asset]> => {
          const body = (encoding: Encoding): Promise<Buffer> => readFile(new URL(name + SUFFIX[encoding], this.folder));
          return [
            name,
            { type, bodies: { identity: await body('identity'), gzip: await body('gzip'), br: await body('br') } },
          ];
        }),
      ),
    );
  }
}

/** The assets of a folder, by default of the one that the build writes. */
export const dashboardAssets = (folder: URL | undefined): Assets =>
  new Assets(folder ?? new URL('./dashboard/', import.meta.url));

/** The best encoding that an Accept-Encoding header allows (RFC 9110, section 12.5.3; a weight of 0 forbids). */
export function encodingFor(header: string | undefined): Encoding {
  const accepted = new Map(
    (header ?? '').split(',').map((part) => {
      const [name = '', ...parameters] = part
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/);
      return [name, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))] as const;
    }),
  );
  return ENCODINGS.find((encoding) => accepted.get(encoding) ?? accepted.get('*') ?? false) ?? 'identity';
}
