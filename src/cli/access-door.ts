/**
 * What the verbs about access ask, on this machine's database and through an API; both answer alike.
 *
 * On this machine's database the command line is the administrator: it is the way back for whoever has lost every key.
 */
import { formatInstant, type Clock } from '../core/time.js';
import type { KeyRequest, StoredKey, ToldKey } from '../store/access/keys.js';
import type { RoleRequest, StoredRole } from '../store/access/roles.js';
import type { AuditCheck, SealedEntry } from '../store/audit.js';
import type { Transaction } from '../store/database.js';
import type { LocalBursar } from './context.js';
import type { Remote } from './remote.js';

/** Every method throws Failure for what it cannot do. */
export interface AccessDoor {
  keys(): Promise<readonly StoredKey[]>;
  createKey(request: KeyRequest): Promise<ToldKey>;
  rotateKey(id: string, overlapSeconds: number): Promise<ToldKey>;
  revokeKey(id: string): Promise<StoredKey>;
  roles(): Promise<readonly StoredRole[]>;
  saveRole(request: RoleRequest): Promise<StoredRole>;
  removeRole(name: string): Promise<StoredRole>;
  /** @param known the end of the chain as it was once */
  verifyAudit(known: AuditCheck['head']): Promise<AuditCheck>;
  /** In the order of the chain, after a place in it. */
  exportAudit(after: string, limit: number): Promise<readonly SealedEntry[]>;
}

const PAGE = 500;

export class LocalAccess implements AccessDoor {
  constructor(
    private readonly bursar: LocalBursar,
    private readonly clock: Clock,
    private readonly actor: string,
  ) {}

  async keys(): Promise<readonly StoredKey[]> {
    const { stores, organisation } = this.bursar;
    const all: StoredKey[] = [];
    for (;;) {
      const page = await stores.keys.list(organisation, all.at(-1)?.id ?? null, PAGE);
      all.push(...page);
      if (page.length < PAGE) return all;
    }
  }

  createKey(request: KeyRequest): Promise<ToldKey> {
    const { stores, organisation } = this.bursar;
    return this.write('key.create', async (tx) => {
      const { text, ...key } = await stores.keys.create(tx, organisation, request, this.clock.now());
      return { result: { ...key, text }, target: key.id, detail: key };
    });
  }

  rotateKey(id: string, overlapSeconds: number): Promise<ToldKey> {
    const { stores, organisation } = this.bursar;
    return this.write('key.rotate', async (tx) => {
      const told = await stores.keys.rotate(tx, organisation, id, overlapSeconds * 1000, this.clock.now());
      return { result: told, target: id, detail: { previousUntil: told.previousUntil } };
    });
  }

  revokeKey(id: string): Promise<StoredKey> {
    const { stores, organisation } = this.bursar;
    return this.write('key.revoke', async (tx) => ({
      result: await stores.keys.revoke(tx, organisation, id, this.clock.now()),
      target: id,
    }));
  }

  roles(): Promise<readonly StoredRole[]> {
    return this.bursar.stores.roles.list(this.bursar.organisation);
  }

  saveRole(request: RoleRequest): Promise<StoredRole> {
    const { stores, organisation } = this.bursar;
    return this.write('role.save', async (tx) => {
      const saved = await stores.roles.save(tx, organisation, request, this.actor, this.clock.now());
      return { result: saved, target: saved.name, detail: { scopes: saved.scopes, description: saved.description } };
    });
  }

  removeRole(name: string): Promise<StoredRole> {
    const { stores, organisation } = this.bursar;
    return this.write('role.remove', async (tx) => ({
      result: await stores.roles.remove(tx, organisation, name),
      target: name,
    }));
  }

  verifyAudit(known: AuditCheck['head']): Promise<AuditCheck> {
    return this.bursar.stores.audit.check(this.bursar.organisation, known);
  }

  exportAudit(after: string, limit: number): Promise<readonly SealedEntry[]> {
    return this.bursar.stores.audit.sealed(this.bursar.organisation, after, limit);
  }

  /** In one transaction with its entry in the audit. */
  private write<T>(
    verb: string,
    work: (tx: Transaction) => Promise<{ readonly result: T; readonly target: string; readonly detail?: object }>,
  ): Promise<T> {
    const { stores, organisation } = this.bursar;
    return stores.db.transaction(async (tx) => {
      const { result, target, detail } = await work(tx);
      await stores.audit.audit(tx, organisation, this.actor, verb, target, { ...detail });
      return result;
    });
  }
}

const at = (list: string, id: string): string => `/v1/${list}/${encodeURIComponent(id)}`;

export class RemoteAccess implements AccessDoor {
  constructor(private readonly remote: Remote) {}

  keys(): Promise<readonly StoredKey[]> {
    return this.remote.list('/v1/keys');
  }

  createKey({ expiresAt = null, ...request }: KeyRequest): Promise<ToldKey> {
    const until = expiresAt === null ? {} : { expiresAt: formatInstant(expiresAt) };
    return this.remote.call('POST', '/v1/keys', { json: { ...request, ...until } });
  }

  rotateKey(id: string, overlapSeconds: number): Promise<ToldKey> {
    return this.remote.call('POST', `${at('keys', id)}/rotate`, { json: { overlapSeconds } });
  }

  revokeKey(id: string): Promise<StoredKey> {
    return this.remote.call('DELETE', at('keys', id));
  }

  roles(): Promise<readonly StoredRole[]> {
    return this.remote.list('/v1/roles');
  }

  saveRole({ name, ...request }: RoleRequest): Promise<StoredRole> {
    return this.remote.call('PUT', at('roles', name), { json: request });
  }

  removeRole(name: string): Promise<StoredRole> {
    return this.remote.call('DELETE', at('roles', name));
  }

  verifyAudit(known: AuditCheck['head']): Promise<AuditCheck> {
    const query = known === null ? {} : { head: `${known.seq}:${known.hash}` };
    return this.remote.call('GET', '/v1/audit/verification', { query });
  }

  async exportAudit(after: string, limit: number): Promise<readonly SealedEntry[]> {
    const text = await this.remote.text('GET', '/v1/audit/export', { query: { after, limit } });
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as SealedEntry);
  }
}
