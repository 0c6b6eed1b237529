/**
 * Whose metered usage is, as far as its record says: the person, the workload, the namespace, the machine or pod. And
 * who of them made a cost grow.
 *
 * Pure. Nothing is guessed from a name: people and workloads are told by tags and labels alone, a pod's workload by the
 * labels that Kubernetes makes it of. What no record states stays out, and an amount in another currency is left out
 * rather than converted.
 */
import type { ResourceCost } from '../cost/by-resource.js';
import { addDecimal, compareDecimal, formatDecimal, negateDecimal, ZERO, type Decimal } from '../decimal.js';
import { workloadOf } from '../fleet/membership.js';
import type { UsageRecord } from '../usage.js';

/** From what says the most to what says the least. */
const WHOSE = ['person', 'workload', 'namespace', 'resource'] as const;
export type Whose = (typeof WHOSE)[number];

/** What of a growth somebody, or something, has caused. */
export interface GrownPart {
  readonly whose: Whose;
  readonly name: string;
  /** Decimal string in the currency of the growth. */
  readonly more: string;
}

/**
 * Tags that name a person, whatever their case. `aws:createdBy` is AWS's own (Billing User Guide, "AWS-generated cost
 * allocation tags"), the others are what people commonly write.
 */
const PERSON_TAGS = ['owner', 'user', 'username', 'email', 'createdby', 'creator', 'aws:createdby'];
/** Labels that name a workload (Kubernetes, "Recommended Labels"), and what people commonly write. */
const WORKLOAD_TAGS = ['workload', 'app.kubernetes.io/name', 'app', 'job', 'jobname', 'project'];
const MOST_CHARACTERS = 100;
/** Kinds that are told of one growth. */
const MOST_PARTS = 2;

const plain = (key: string): string => key.toLowerCase().replaceAll(/[-_](?=[a-z])/g, '');

function tagged(tags: UsageRecord['tags'], keys: readonly string[]): string | null {
  const known = new Map(Object.entries(tags ?? {}).map(([key, value]) => [plain(key), value.trim()]));
  const found = keys.map((key) => known.get(plain(key))).find((value) => value !== undefined && value !== '');
  return found === undefined ? null : found.slice(0, MOST_CHARACTERS);
}

/** All that a record says of whose it is, as one text. */
export function whoseName(record: Pick<UsageRecord, 'tags' | 'namespace' | 'resource'>): string {
  const { tags, namespace, resource } = record;
  return JSON.stringify([
    tagged(tags, PERSON_TAGS),
    workloadOf(record) ?? tagged(tags, WORKLOAD_TAGS),
    namespace,
    resource,
  ]);
}

/**
 * Who made a cost grow the most, one of each kind that is known, those that say the most first. A machine is named only
 * where nothing says whose it is.
 * @param now costs by `whoseName`, and those of as many days before
 */
export function grownBy(now: readonly ResourceCost[], before: readonly ResourceCost[], currency: string): GrownPart[] {
  const [costs, old] = [byName(now, currency), byName(before, currency)];
  const found = WHOSE.flatMap((whose): GrownPart[] => {
    const [top] = [...(costs.get(whose) ?? [])]
      .map(([name, cost]) => ({ name, more: addDecimal(cost, negateDecimal(old.get(whose)?.get(name) ?? ZERO)) }))
      .filter(({ more }) => compareDecimal(more, ZERO) > 0)
      .sort((a, b) => compareDecimal(b.more, a.more) || (a.name < b.name ? -1 : 1));
    return top === undefined ? [] : [{ whose, name: top.name, more: formatDecimal(top.more) }];
  });
  const owned = found.filter(({ whose }) => whose !== 'resource');
  return (owned.length === 0 ? found : owned).slice(0, MOST_PARTS);
}

function byName(costs: readonly ResourceCost[], currency: string): Map<Whose, Map<string, Decimal>> {
  const sums = new Map<Whose, Map<string, Decimal>>(WHOSE.map((whose) => [whose, new Map()]));
  for (const { resource, currency: own, cost } of costs) {
    if (resource === null || cost === null || own !== currency) continue;
    const names = JSON.parse(resource) as (string | null)[];
    WHOSE.forEach((whose, at) => {
      const [name, of] = [names[at] ?? null, sums.get(whose)];
      if (name !== null && name !== '') of?.set(name, addDecimal(of.get(name) ?? ZERO, cost));
    });
  }
  return sums;
}
