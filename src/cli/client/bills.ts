/**
 * The API requests of the verbs for bills in several files and for commitments.
 */
import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { CommitmentReport, Delivery, ImportedFile } from '../answers.js';
import type { Progress } from '../progress.js';
import { at, type Api } from './api.js';
import { checkReadable } from './files.js';

export interface DeliveryRequest {
  readonly name: string;
  readonly paths: readonly string[];
  readonly source: string;
  readonly format: string;
}

export interface CommitRequest {
  readonly strict: boolean;
  readonly dryRun: boolean;
  /** Whether the same bill of another source is replaced; otherwise it is a conflict. */
  readonly replace?: boolean;
  readonly wait: boolean;
}

export class BillClient {
  constructor(
    private readonly api: Api,
    private readonly progress: Progress,
    private readonly wait: () => Promise<void>,
  ) {}

  /** Opens the delivery, or goes on with it, and adds the files: those that are there with the same bytes stay. */
  async deliver({ name, paths, source, format }: DeliveryRequest): Promise<Delivery> {
    await checkReadable(paths);
    await this.api.call('PUT', at('deliveries', name), { json: { source, format } });
    try {
      for (const file of paths) {
        const filename = path.basename(file);
        this.progress.show(`sending ${filename}`);
        await this.api.call('POST', `${at('deliveries', name)}/files`, {
          query: { filename },
          stream: createReadStream(file),
        });
      }
    } finally {
      this.progress.end();
    }
    const delivery = (await this.deliveries()).find((one) => one.name === name);
    if (delivery === undefined) throw new Error('broken invariant: a delivery that was opened is open');
    return delivery;
  }

  async deliveries(): Promise<readonly Delivery[]> {
    return (await this.api.call<{ deliveries: Delivery[] }>('GET', '/v1/deliveries')).deliveries;
  }

  async commit(
    name: string,
    { strict, dryRun, replace = false, wait }: CommitRequest,
  ): Promise<readonly ImportedFile[]> {
    const query = { strict, dryRun, replace };
    const { files } = await this.api.call<{ files: ImportedFile[] }>('POST', `${at('deliveries', name)}/commit`, {
      query,
    });
    if (wait && !dryRun) await this.wait();
    return files;
  }

  discard(name: string): Promise<Delivery> {
    return this.api.call('DELETE', at('deliveries', name));
  }

  /** Uses from charges that start on a day in [from, to); null: no bound. */
  commitments(from: string | null, to: string | null): Promise<CommitmentReport> {
    return this.api.call('GET', '/v1/commitments', { query: { from, to } });
  }
}
