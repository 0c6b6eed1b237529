/**
 * The API requests of the verbs for access: keys, roles, sessions, and the chain of the audit.
 */
import type {
  AuditCheck,
  CreatedKey,
  Key,
  KeyRequest,
  Role,
  RoleRequest,
  SealedEntry,
  StandingSession,
} from '../answers.js';
import { at, type Api } from './api.js';

export class AccessClient {
  constructor(private readonly api: Api) {}

  keys(): Promise<readonly Key[]> {
    return this.api.list('/v1/keys');
  }

  createKey(request: KeyRequest): Promise<CreatedKey> {
    return this.api.call('POST', '/v1/keys', { json: request });
  }

  rotateKey(id: string, overlapSeconds: number): Promise<CreatedKey> {
    return this.api.call('POST', `${at('keys', id)}/rotate`, { json: { overlapSeconds } });
  }

  revokeKey(id: string): Promise<Key> {
    return this.api.call('DELETE', at('keys', id));
  }

  roles(): Promise<readonly Role[]> {
    return this.api.list('/v1/roles');
  }

  saveRole(name: string, request: RoleRequest): Promise<Role> {
    return this.api.call('PUT', at('roles', name), { json: request });
  }

  removeRole(name: string): Promise<Role> {
    return this.api.call('DELETE', at('roles', name));
  }

  /** The signed-in users: all, one of them, or (`mine`) the caller. */
  sessions(whose: { readonly of?: string; readonly mine?: true }): Promise<readonly StandingSession[]> {
    const query = whose.of === undefined ? {} : { of: whose.of };
    return this.api.list(whose.mine ? '/v1/me/sessions' : '/v1/sessions', Infinity, query);
  }

  /** Ends one session, all of somebody, or (`mine`) one's own others. The ids of those that were ended. */
  async endSessions(whose: {
    readonly id?: string;
    readonly of?: string;
    readonly mine?: true;
  }): Promise<readonly string[]> {
    const base = whose.mine ? '/v1/me/sessions' : '/v1/sessions';
    const { ended } =
      whose.id === undefined
        ? await this.api.call<{ ended: string[] }>('POST', `${base}/end`, whose.mine ? {} : { json: { of: whose.of } })
        : await this.api.call<{ ended: string[] }>('DELETE', `${base}/${encodeURIComponent(whose.id)}`);
    return ended;
  }

  /** @param known the end of the chain as it was once */
  verifyAudit(known: AuditCheck['head']): Promise<AuditCheck> {
    const query = known === null ? {} : { head: `${known.seq}:${known.hash}` };
    return this.api.call('GET', '/v1/audit/verification', { query });
  }

  /** In the order of the chain, after a place in it. */
  async exportAudit(after: string, limit: number): Promise<readonly SealedEntry[]> {
    const text = await this.api.text('GET', '/v1/audit/export', { query: { after, limit } });
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as SealedEntry);
  }
}
