/**
 * What the verbs about bills in several files and about commitments ask, on this machine's database and through an API.
 */
import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { CommitmentReport } from '../core/bill/commitments.js';
import type { ImportedFile } from '../core/ports.js';
import type { Clock } from '../core/time.js';
import { commitmentsOf } from '../store/bill/commitments.js';
import type { OpenDelivery } from '../store/usage/deliveries.js';
import type { LocalBursar } from './context.js';
import type { Remote } from './remote.js';

export interface DeliveryRequest {
  readonly name: string;
  readonly paths: readonly string[];
  readonly source: string;
  readonly format: string;
}

export interface CommitRequest {
  readonly strict: boolean;
  readonly dryRun: boolean;
  /** Whether the same bill of another source is replaced; else it is a conflict. */
  readonly replace?: boolean;
  readonly wait: boolean;
}

export interface BillDoor {
  /** Opens the delivery, or goes on with it, and adds the files: those that are there with the same bytes stay. */
  deliver(request: DeliveryRequest): Promise<OpenDelivery>;
  deliveries(): Promise<readonly OpenDelivery[]>;
  commit(name: string, request: CommitRequest): Promise<readonly ImportedFile[]>;
  discard(name: string): Promise<OpenDelivery>;
  /** Of charges that start on a day in [from, to); null: no bound. */
  commitments(from: string | null, to: string | null): Promise<CommitmentReport>;
}

export class LocalBills implements BillDoor {
  constructor(
    private readonly bursar: LocalBursar,
    private readonly clock: Clock,
    private readonly actor: string,
    private readonly drained: () => Promise<void>,
  ) {}

  async deliver({ name, paths, source, format }: DeliveryRequest): Promise<OpenDelivery> {
    const { stores, organisation } = this.bursar;
    const now = this.clock.now();
    await stores.db.transaction(async (tx) => {
      await stores.deliveries.open(tx, organisation, { name, source, format }, this.actor, now);
      await stores.audit.audit(tx, organisation, this.actor, 'delivery.open', name, { source, format });
    });
    for (const file of paths) {
      const added = await stores.deliveries.add(organisation, name, path.basename(file), createReadStream(file), now);
      await stores.audit.audit(stores.db, organisation, this.actor, 'delivery.add', name, { ...added });
    }
    return stores.deliveries.get(stores.db, organisation, name);
  }

  deliveries(): Promise<readonly OpenDelivery[]> {
    const { stores, organisation } = this.bursar;
    return stores.deliveries.list(stores.db, organisation);
  }

  async commit(
    name: string,
    { strict, dryRun, replace = false, wait }: CommitRequest,
  ): Promise<readonly ImportedFile[]> {
    const { importer, organisation } = this.bursar;
    const files = await importer.commit(name, { organisation, strict, dryRun, replace, by: this.actor });
    if (wait && !dryRun) await this.drained();
    return files;
  }

  discard(name: string): Promise<OpenDelivery> {
    const { stores, organisation } = this.bursar;
    return stores.db.transaction(async (tx) => {
      const delivery = await stores.deliveries.get(tx, organisation, name);
      await stores.deliveries.close(tx, organisation, name);
      const files = delivery.files.map(({ file }) => file);
      await stores.audit.audit(tx, organisation, this.actor, 'delivery.discard', name, { files });
      return delivery;
    });
  }

  commitments(from: string | null, to: string | null): Promise<CommitmentReport> {
    const { stores, organisation } = this.bursar;
    return commitmentsOf(stores.db, organisation, from, to);
  }
}

const at = (name: string): string => `/v1/deliveries/${encodeURIComponent(name)}`;

export class RemoteBills implements BillDoor {
  constructor(
    private readonly remote: Remote,
    private readonly show: (text: string) => void,
    private readonly drained: () => Promise<void>,
  ) {}

  async deliver({ name, paths, source, format }: DeliveryRequest): Promise<OpenDelivery> {
    await this.remote.call('PUT', at(name), { json: { source, format } });
    for (const file of paths) {
      const filename = path.basename(file);
      this.show(`sending ${filename}`);
      await this.remote.call('POST', `${at(name)}/files`, { query: { filename }, stream: createReadStream(file) });
    }
    const delivery = (await this.deliveries()).find((one) => one.name === name);
    if (delivery === undefined) throw new Error('broken invariant: a delivery that was opened is open');
    return delivery;
  }

  async deliveries(): Promise<readonly OpenDelivery[]> {
    return (await this.remote.call<{ deliveries: OpenDelivery[] }>('GET', '/v1/deliveries')).deliveries;
  }

  async commit(
    name: string,
    { strict, dryRun, replace = false, wait }: CommitRequest,
  ): Promise<readonly ImportedFile[]> {
    const query = { strict, dryRun, replace };
    const { files } = await this.remote.call<{ files: ImportedFile[] }>('POST', `${at(name)}/commit`, { query });
    if (wait && !dryRun) await this.drained();
    return files;
  }

  discard(name: string): Promise<OpenDelivery> {
    return this.remote.call('DELETE', at(name));
  }

  commitments(from: string | null, to: string | null): Promise<CommitmentReport> {
    return this.remote.call('GET', '/v1/commitments', { query: { from, to } });
  }
}
