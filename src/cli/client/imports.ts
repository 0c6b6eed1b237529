/**
 * The API requests of the verbs for files: importing bills, metered usage and price lists, and listing the results. In
 * process, a file of this machine is read in place; otherwise it is sent as a stream.
 */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { Failure } from '../../core/errors.js';
import type { Import, ImportedFile, ImportedPrices, PriceVersion, Reject, UndoneImport } from '../answers.js';
import type { Progress } from '../progress.js';
import { WrongUse } from '../usage-error.js';
import { at, type Api } from './api.js';
import type { BillClient } from './bills.js';
import { checkReadable } from './files.js';

export interface PriceFilter {
  readonly provider?: string;
  readonly sku?: string;
}

export interface FilesToImport {
  readonly paths: readonly string[];
  /** A format's name, or `auto`. */
  readonly format: string;
  readonly source: string;
  readonly strict: boolean;
  readonly dryRun: boolean;
  /** Bills: what another source has delivered is replaced. */
  readonly replace?: boolean;
  /** Whether to return only when the line has drained. */
  readonly wait: boolean;
}

/** A price list's counts; its rejects are listed with all others. */
export type PricesCount = Omit<ImportedPrices, 'rejects'>;

const countOf = ({ file, format, rows, accepted, rejected, unchanged }: ImportedPrices): PricesCount => ({
  file,
  format,
  rows,
  accepted,
  rejected,
  unchanged,
});

export interface ImportParts {
  readonly api: Api;
  readonly bills: BillClient;
  readonly progress: Progress;
  readonly note: (text: string) => void;
  readonly wait: () => Promise<void>;
  /** The API is asked in process: it can open this machine's files itself. */
  readonly isLocal: boolean;
}

export class ImportClient {
  constructor(private readonly parts: ImportParts) {}

  /** All files of a call are one delivery: all of it is imported, or nothing. */
  async usage(request: FilesToImport): Promise<readonly ImportedFile[]> {
    const { isLocal } = this.parts;
    return this.takeAndWait(request, () => {
      if (isLocal) return this.open<ImportedFile>('/v1/local/imports', request);
      return request.paths.length > 1 ? this.sendTogether(request) : this.send<ImportedFile>('/v1/imports', request);
    });
  }

  async prices(request: FilesToImport): Promise<readonly PricesCount[]> {
    const { isLocal } = this.parts;
    const lists = await this.takeAndWait(request, () =>
      isLocal
        ? this.open<ImportedPrices>('/v1/local/prices', request)
        : this.send<ImportedPrices>('/v1/prices', request),
    );
    return lists.map(countOf);
  }

  /** Statements of prices, taken back ones too. */
  statements({ provider, sku }: PriceFilter): Promise<readonly PriceVersion[]> {
    return this.parts.api.list('/v1/prices', Infinity, { provider, sku });
  }

  /** Takes the statement of a price back, or restores it. */
  async setWithdrawn(id: string, isWithdrawn: boolean): Promise<PriceVersion> {
    const { api, wait } = this.parts;
    const price = await api.call<PriceVersion>('POST', `${at('prices', id)}/${isWithdrawn ? 'withdraw' : 'restore'}`);
    await wait();
    return price;
  }

  /** Newest first. */
  list(limit: number): Promise<readonly Import[]> {
    return this.parts.api.list('/v1/imports', limit);
  }

  /** Takes an import back, whole. */
  async undo(id: string): Promise<UndoneImport> {
    const { api, wait } = this.parts;
    const undone = await api.call<UndoneImport>('POST', `${at('imports', id)}/undo`);
    await wait();
    return undone;
  }

  /** The rejects of one import, or of all, newest import first. */
  rejects(importId: string | null, limit: number): Promise<readonly Reject[]> {
    return this.parts.api.list(importId === null ? '/v1/rejects' : `${at('imports', importId)}/rejects`, limit);
  }

  private async takeAndWait<T>({ wait, dryRun }: FilesToImport, take: () => Promise<T>): Promise<T> {
    const { progress } = this.parts;
    const files = await take()
      .catch((error: unknown) => {
        // The flag is the problem.
        if (
          error instanceof Failure &&
          error.kind === 'invalid' &&
          error.problems.some((problem) => problem.path === 'format')
        )
          throw new WrongUse(error.message);
        throw error;
      })
      .finally(() => progress.end());
    if (wait && !dryRun) await this.parts.wait();
    return files;
  }

  private async open<T>(route: string, request: FilesToImport): Promise<T[]> {
    const { wait: _, replace = false, ...body } = request;
    return (await this.parts.api.call<{ files: T[] }>('POST', route, { json: { ...body, replace } })).files;
  }

  private async sendTogether({ paths, format, source, ...how }: FilesToImport): Promise<readonly ImportedFile[]> {
    const { bills, note } = this.parts;
    await checkReadable(paths);
    const name = `call-${randomUUID()}`;
    let open = false;
    try {
      await bills.deliver({ name, paths: [], format, source });
      open = true;
      await bills.deliver({ name, paths, format, source });
      const files = await bills.commit(name, { ...how, wait: false });
      open = how.dryRun;
      return files;
    } finally {
      // A delivery of a call that failed is of no use; what says why it failed is not hidden by that.
      if (open) await bills.discard(name).catch(() => note(`the delivery ${name} is still open there`));
    }
  }

  /** One request per file: what came before a refused file stays. */
  private async send<T>(
    route: string,
    { paths, format, source, strict, dryRun, replace }: FilesToImport,
  ): Promise<T[]> {
    const { api, progress, note } = this.parts;
    await checkReadable(paths);
    const results: T[] = [];
    try {
      for (const file of paths) {
        const filename = path.basename(file);
        progress.show(`sending ${filename}`);
        const query = { filename, format, source, strict, dryRun, ...(replace === true ? { replace } : {}) };
        const { files } = await api.call<{ files: T[] }>('POST', route, { query, stream: createReadStream(file) });
        results.push(...files);
      }
    } catch (error) {
      if (results.length > 0)
        note(`${results.length} of ${paths.length} files were imported before this one was refused`);
      throw error;
    }
    return results;
  }
}
