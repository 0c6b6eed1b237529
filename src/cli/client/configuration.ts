/**
 * The API requests of the verbs for budgets as code: reading the configuration, planning a change, and applying it.
 */
import type { Sections } from '../../core/changes.js';
import type { ConfigurationPlan } from '../answers.js';
import type { Api } from './api.js';

/** As it was read: checked by the API. */
export type Configuration = Readonly<Record<string, unknown>>;

export class ConfigurationClient {
  constructor(
    private readonly api: Api,
    private readonly wait: () => Promise<void>,
  ) {}

  async get(): Promise<Sections> {
    return (await this.api.call<{ configuration: Sections }>('GET', '/v1/configuration')).configuration;
  }

  /** @throws Failure invalid naming every problem, by its path in the document */
  plan(configuration: Configuration, prune: boolean): Promise<ConfigurationPlan> {
    return this.api.call('POST', '/v1/configuration/plan', { json: { configuration, prune } });
  }

  /**
   * All of it or nothing.
   * @param replaces the revision of the plan
   * @param override why policies may enforce without a backtest
   */
  async apply(
    configuration: Configuration,
    {
      prune,
      replaces,
      override,
    }: { readonly prune: boolean; readonly replaces: string; readonly override: string | null },
  ): Promise<ConfigurationPlan> {
    const json = { configuration, prune, replaces, override };
    const applied = await this.api.call<ConfigurationPlan>('PUT', '/v1/configuration', { json });
    await this.wait();
    return applied;
  }
}
