/**
 * Which SKUs of a bill may be the machine that a meter has under the same resource. A bill names a machine on all that
 * is charged because of it: its hours, its traffic, its licences, its protection; the meter means its hours.
 *
 * Never guesses by amounts. The invariants: where one SKU of a resource is the meter's own name (or one that price lists
 * know), no other SKU of that resource is taken for it; and what nothing calls a machine's hours is none.
 */
import type { ResourcesOfSku } from './cells.js';
import { isOfMachines, namesNoHours } from './machine-hours.js';

/** @param isSignificant whether a SKU's name alone tells what it is */
export function machineSkus(
  skus: readonly ResourcesOfSku[],
  isSignificant: (provider: string, sku: string) => boolean,
): ResourcesOfSku[] {
  const named = (provider: string, resource: string): string => JSON.stringify([provider, resource]);
  const known = new Set<string>();
  const ofGpus = new Set<string>();
  const wanted: ResourcesOfSku[] = [];
  for (const one of skus) {
    if (one.machineHours === false) continue;
    const isKnown = isSignificant(one.provider, one.sku);
    if (!isKnown) wanted.push(one);
    for (const resource of one.resources) {
      if (isKnown && !namesNoHours(one.sku)) known.add(named(one.provider, resource));
      if (one.ofGpus === true) ofGpus.add(named(one.provider, resource));
    }
  }
  return wanted.filter(({ provider, sku, resources, services = [], ofGpus: statesGpus = false, machineHours }) => {
    const names = resources.map((resource) => named(provider, resource));
    if (names.some((name) => known.has(name))) return false;
    if (machineHours === true || statesGpus) return true;
    if (names.some((name) => ofGpus.has(name)) || namesNoHours(sku)) return false;
    // A bill that names no services cannot tell by them.
    return services.every((service) => isOfMachines(service));
  });
}
