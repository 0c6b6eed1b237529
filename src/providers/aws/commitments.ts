/**
 * Existing commitments: reserved instances of GPU types, and savings plans that cover EC2. They show that a term pays
 * for hours of some machine, so that a stop may not save their cost. Only the bill decides which machine a commitment
 * covers. They are read once an hour, because only purchases change them.
 *
 * The invariant: a commitment that cannot be read now keeps its last known state, with a note; it is never reported as
 * ended. Sources: Amazon EC2 API Reference, DescribeReservedInstances; Savings Plans API Reference,
 * DescribeSavingsPlans; Savings Plans User Guide, "Types of Savings Plans" (Compute: any family and region; EC2
 * Instance: one of each).
 */
import { DescribeReservedInstancesCommand, type ReservedInstances } from '@aws-sdk/client-ec2';
import { DescribeSavingsPlansCommand, type SavingsPlan } from '@aws-sdk/client-savingsplans';
import type { FleetTarget } from '../../core/fleet/fleet.js';
import { HOUR_MS } from '../../core/time.js';
import type { Term } from '../../core/usage.js';
import { unlessFailed } from '../rpc.js';
import type { Clients } from './clients.js';
import { reading } from './failures.js';
import type { InstanceTypes, TypeGpus } from './gpus.js';

const RESERVED_PERMISSION = 'ec2:DescribeReservedInstances';
const PLANS_PERMISSION = 'savingsplans:DescribeSavingsPlans';
export const COMMITMENT_PERMISSIONS: readonly string[] = [RESERVED_PERMISSION, PLANS_PERMISSION];

const YEARS: ReadonlyMap<number, '1y' | '3y'> = new Map([
  [31_536_000, '1y'],
  [94_608_000, '3y'],
]);
/** Families with accelerators: a plan of another family covers none of the machines here. */
const ACCELERATED = /^(?:p|g|trn|inf|dl)\d/;

/** A new purchase whose payment is pending is held all the same. */
const HELD = ['active', 'payment-pending'] as const;

interface Kept {
  readonly at: number;
  readonly targets: readonly FleetTarget[];
}

export class Commitments {
  private readonly kept = new Map<string, Kept>();

  constructor(
    private readonly clients: Clients,
    private readonly types: InstanceTypes,
  ) {}

  /** @param lacks receives what could not be read now: it stays as it was */
  async read(now: number, lacks: (what: string) => void): Promise<readonly FleetTarget[]> {
    const { regions } = this.clients.settings;
    const reserved = await Promise.all(
      regions.map((region) => this.part(`${region}: reserved instances`, now, lacks, () => this.reserved(region))),
    );
    const plans = await this.part('savings plans', now, lacks, () => this.plans());
    return [...reserved.flat(), ...plans];
  }

  /** Something was bought: they are read again. What cannot be read then stays as it was. */
  expire(): void {
    for (const [name, { targets }] of this.kept) this.kept.set(name, { at: -Infinity, targets });
  }

  /** One of them, by its name as a target; null: there is none of it. */
  async named(target: string, now: number): Promise<FleetTarget | null> {
    if (!target.startsWith('commitment/')) return null;
    return (await this.read(now, () => undefined)).find((one) => one.target === target) ?? null;
  }

  private async part(
    name: string,
    now: number,
    lacks: (what: string) => void,
    read: () => Promise<readonly FleetTarget[]>,
  ): Promise<readonly FleetTarget[]> {
    const kept = this.kept.get(name);
    if (kept !== undefined && now - kept.at < HOUR_MS) return kept.targets;
    const targets = await unlessFailed(read, (why) =>
      lacks(`${name} were not read: ${why}; whether they cover a machine that is stopped is not known`),
    );
    if (targets === null) return kept?.targets ?? [];
    this.kept.set(name, { at: now, targets });
    return targets;
  }

  private async reserved(region: string): Promise<FleetTarget[]> {
    const command = new DescribeReservedInstancesCommand({ Filters: [{ Name: 'state', Values: [...HELD] }] });
    const { ReservedInstances: all = [] } = await reading(RESERVED_PERMISSION, () =>
      this.clients.ec2(region).send(command),
    );
    if (all.length === 0) return [];
    const gpus = await this.types.gpusOf(
      region,
      all.flatMap(({ InstanceType }) => InstanceType ?? []),
    );
    return all.flatMap((one) => {
      const type = gpus.get(one.InstanceType ?? '');
      return type === null ? [] : [this.reservedTarget(one, region, type)];
    });
  }

  private reservedTarget(one: ReservedInstances, region: string, type: TypeGpus | undefined): FleetTarget {
    const years = YEARS.get(one.Duration ?? 0);
    const count = one.InstanceCount ?? 0;
    return {
      ...this.target(`${region}/${one.ReservedInstancesId ?? ''}`, years === undefined ? null : `reserved-${years}`),
      region,
      sku: one.InstanceType ?? null,
      gpuModel: type?.model ?? null,
      gpus: type?.gpus ?? null,
      replicas: { desired: count, ready: count, min: null, max: null },
      launchedAt: one.Start?.getTime() ?? null,
    };
  }

  private async plans(): Promise<FleetTarget[]> {
    const found: SavingsPlan[] = [];
    let nextToken: string | undefined;
    do {
      const command = new DescribeSavingsPlansCommand({ states: [...HELD], nextToken });
      const page = await reading(PLANS_PERMISSION, () => this.clients.savingsPlans().send(command));
      found.push(...(page.savingsPlans ?? []));
      nextToken = page.nextToken;
    } while (nextToken !== undefined && nextToken !== '');
    return found.filter(coversMachines).map((one): FleetTarget => {
      const years = YEARS.get(one.termDurationInSeconds ?? 0);
      const start = Date.parse(one.start ?? '');
      return {
        ...this.target(
          `savings-plans/${one.savingsPlanId ?? ''}`,
          years === undefined ? null : `savings-plan-${years}`,
        ),
        region: one.region ?? null,
        sku: one.ec2InstanceFamily ?? null,
        gpuModel: null,
        gpus: null,
        replicas: null,
        launchedAt: Number.isNaN(start) ? null : start,
      };
    });
  }

  private target(
    id: string,
    term: Term | null,
  ): Omit<FleetTarget, 'region' | 'sku' | 'gpuModel' | 'gpus' | 'replicas' | 'launchedAt'> {
    return {
      target: `commitment/${id}`,
      kind: 'commitment',
      name: id.slice(id.lastIndexOf('/') + 1),
      provider: 'AWS',
      account: this.clients.settings.account,
      term,
      state: 'running',
      billing: 'billed',
      spotRatio: null,
      labels: {},
      revision: null,
    };
  }
}

/** Plans for SageMaker or databases cover no machine of EC2. */
const coversMachines = ({ savingsPlanType, ec2InstanceFamily }: SavingsPlan): boolean =>
  savingsPlanType === 'Compute' ||
  (savingsPlanType === 'EC2Instance' && (ec2InstanceFamily === undefined || ACCELERATED.test(ec2InstanceFamily)));
