/**
 * Checks which of Azure's permissions the identities have, by asking Azure itself: it lists the caller's permissions in
 * a resource group, so nothing has to be tried.
 *
 * Changes nothing. The invariant: if no resource group with a GPU machine is known, or the list cannot be read, a
 * permission is unknown. A role that holds for some resource groups only counts where it holds for one of them. Source:
 * Authorization REST API, "Permissions - List For Resource Group"; "Understand Azure role definitions" (actions less
 * notActions, `*` for any text, letters of either case).
 */
import { Failure } from '../../core/errors.js';
import type { ProviderSetting } from '../../core/setting.js';
import { unlessFailed } from '../rpc.js';
import type { AzureClient, Values } from './client.js';
import { OPERATIONS } from './operations.js';
import { isGpuSize } from './sizes.js';
import { valuesOf } from './targets.js';

const MOST_GROUPS = 3;

interface Granted {
  readonly actions?: readonly string[] | null | undefined;
  readonly notActions?: readonly string[] | null | undefined;
}

const covers = (pattern: string, permission: string): boolean =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    'i',
  ).test(permission);

const allows = ({ actions, notActions }: Granted, permission: string): boolean =>
  (actions ?? []).some((pattern) => covers(pattern, permission)) &&
  !(notActions ?? []).some((pattern) => covers(pattern, permission));

export class Permissions {
  private readonly known = new Map<string, Promise<readonly (readonly Granted[])[]>>();

  constructor(private readonly client: AzureClient) {}

  /** As ProviderConnection.granted says. @throws Failure if Azure cannot be asked now */
  async granted(permission: string, use: ProviderSetting['use']): Promise<boolean | null> {
    if (use === 'act' && this.client.settings.act === null) return null;
    const asked = this.known.get(use) ?? this.ask(use);
    this.known.set(use, asked);
    try {
      const groups = await asked;
      if (groups.length === 0) return null;
      return groups.some((all) => all.some((one) => allows(one, permission)));
    } catch (failure) {
      this.known.delete(use);
      if (failure instanceof Failure && failure.kind === 'denied') return null;
      throw failure;
    }
  }

  private async ask(use: ProviderSetting['use']): Promise<readonly (readonly Granted[])[]> {
    const found: Granted[][] = [];
    for (const values of await this.find()) found.push(await this.client.list(OPERATIONS.permissions, values, {}, use));
    return found;
  }

  /** Some resource groups with machines or scale sets of GPU sizes. */
  private async find(): Promise<readonly Values[]> {
    const { subscriptions } = this.client.settings;
    const found = new Map<string, Values>();
    for (const subscriptionId of subscriptions) {
      const orNone = async <Item>(list: () => Promise<Item[]>): Promise<Item[]> =>
        (await unlessFailed(list, () => undefined)) ?? [];
      const machines = await orNone(() => this.client.list(OPERATIONS.machines, { subscriptionId }));
      const sets = await orNone(() => this.client.list(OPERATIONS.scaleSets, { subscriptionId }));
      const ids = [
        ...machines.filter(({ properties }) => isGpuSize(properties?.hardwareProfile?.vmSize ?? '')),
        ...sets.filter(({ sku }) => isGpuSize(sku?.name ?? '')),
      ].map(({ id }) => id);
      for (const id of ids) {
        const values = valuesOf(id, 'name');
        if (values !== null && found.size < MOST_GROUPS)
          found.set(`${values['subscriptionId']} ${values['resourceGroupName']}`.toLowerCase(), values);
      }
    }
    return [...found.values()];
  }
}
