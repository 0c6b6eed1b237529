/**
 * Finds the SKUs of a bill that may be the machine that a meter has under the same resource. A bill names a machine on
 * all charges that it causes: its hours, its traffic, its licences, its protection; the meter means only its hours.
 * Never guesses by amounts.
 *
 * The invariants: if one SKU of a resource is the meter's own name (or a name from price lists), no other SKU of that
 * resource is taken for it; and a SKU that nothing describes as a machine's hours is not the machine. A SKU without any
 * describing line (Alibaba Cloud's FOCUS describes none) is the machine only if nothing else of its resource could be:
 * of two, one may be the disk, whose money must not vanish, so both count.
 */
import type { ResourcesOfSku } from './cells.js';
import { isOfMachines, namesNoHours } from './machine-hours.js';

/** @param isSignificant whether a SKU's name alone identifies it */
export function machineSkus(
  skus: readonly ResourcesOfSku[],
  isSignificant: (provider: string, sku: string) => boolean,
): ResourcesOfSku[] {
  const named = (provider: string, resource: string): string => JSON.stringify([provider, resource]);
  const known = new Set<string>();
  const ofGpus = new Set<string>();
  /** By resource the only SKU that could be the machine; null if several could. */
  const candidates = new Map<string, string | null>();
  const wanted: ResourcesOfSku[] = [];
  for (const one of skus) {
    if (one.machineHours === false) continue;
    const isKnown = isSignificant(one.provider, one.sku);
    // Lines without a SKU cannot be linked, and may be the machine all the same.
    if (!isKnown && one.sku !== '') wanted.push(one);
    const isCandidate = couldBeMachine(one);
    for (const resource of one.resources) {
      if (isKnown && !namesNoHours(one.sku)) known.add(named(one.provider, resource));
      if (one.ofGpus === true) ofGpus.add(named(one.provider, resource));
      if (!isCandidate) continue;
      const name = named(one.provider, resource);
      const other = candidates.get(name);
      candidates.set(name, other === undefined || other === one.sku ? one.sku : null);
    }
  }
  return wanted.filter((one) => {
    const names = one.resources.map((resource) => named(one.provider, resource));
    if (names.some((name) => known.has(name))) return false;
    if (one.machineHours === true || one.ofGpus === true) return true;
    if (names.some((name) => ofGpus.has(name)) || !couldBeMachine(one)) return false;
    return names.every((name) => candidates.get(name) === one.sku);
  });
}

/** As far as its words tell. A bill that names no services cannot tell by them. */
function couldBeMachine({ sku, services = [], ofGpus, machineHours }: ResourcesOfSku): boolean {
  if (machineHours !== undefined || ofGpus === true) return machineHours !== false;
  if (sku === '') return services.some((service) => isOfMachines(service));
  return !namesNoHours(sku) && services.every((service) => isOfMachines(service));
}
