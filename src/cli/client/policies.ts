/**
 * The API requests of the verbs for policies. The server that applies a document validates it, against its own
 * policies.
 */
import type { PolicyCheck, PolicyDescription, StoredPolicy } from '../answers.js';
import { at, type Api } from './api.js';

export interface PolicyList {
  /** Every policy that there is. */
  readonly policies: readonly PolicyDescription[];
  /** The documents in force. */
  readonly documents: readonly StoredPolicy[];
}

export class PolicyClient {
  constructor(
    private readonly api: Api,
    private readonly wait: () => Promise<void>,
  ) {}

  async list(): Promise<PolicyList> {
    const { catalogue } = await this.api.call<{ catalogue: PolicyDescription[] }>('GET', '/v1/policies', {
      query: { limit: 1 },
    });
    return { policies: catalogue, documents: await this.api.list('/v1/policies') };
  }

  show(name: string): Promise<StoredPolicy> {
    return this.api.call('GET', at('policies', name));
  }

  validate(value: unknown): Promise<PolicyCheck> {
    return this.api.call('POST', '/v1/policies/validate', { json: value });
  }

  /** @param override why it may enforce without a backtest */
  async apply(value: unknown, override: string | null): Promise<StoredPolicy> {
    const { name, ...settings } =
      typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
    // A document without a name has no address: it is refused with all its problems.
    const address = typeof name === 'string' && name !== '' ? at('policies', name) : at('policies', '-');
    const applied = await this.api.call<StoredPolicy>('PUT', address, {
      json: override === null ? settings : { ...settings, override },
    });
    await this.wait();
    return applied;
  }

  async pause(name: string, paused: boolean): Promise<StoredPolicy> {
    const changed = await this.api.call<StoredPolicy>('POST', `${at('policies', name)}/${paused ? 'pause' : 'resume'}`);
    await this.wait();
    return changed;
  }
}
