/**
 * Which SKUs of a bill may be the machine that a meter has under the same resource. A bill names a machine on all that
 * is charged because of it: its hours, its traffic, its licences, its monitoring; the meter means its hours.
 *
 * Never guesses by amounts. The invariant: where one SKU of a resource is the meter's own name (or one that price lists
 * know), no other SKU of that resource is taken for it.
 */
import type { ResourcesOfSku } from './cells.js';

/** What is charged beside a machine's hours, by how vendors call SKUs and services. */
const NOT_HOURS =
  /transfer|bandwidth|egress|traffic|\bnetwork|\bstorage|snapshot|\bdisks?\b|\bvolumes?\b|^ebs:|^cw:|cloudwatch|monitor|licen[cs]e|marketplace|software|ip address/i;

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
    const isKnown = isSignificant(one.provider, one.sku);
    if (!isKnown) wanted.push(one);
    for (const resource of one.resources) {
      if (isKnown && !NOT_HOURS.test(one.sku)) known.add(named(one.provider, resource));
      if (one.ofGpus === true) ofGpus.add(named(one.provider, resource));
    }
  }
  return wanted.filter(({ provider, sku, resources, services = [], ofGpus: statesGpus = false }) => {
    const names = resources.map((resource) => named(provider, resource));
    if (names.some((name) => known.has(name))) return false;
    if (statesGpus) return true;
    return !names.some((name) => ofGpus.has(name)) && ![sku, ...services].some((name) => NOT_HOURS.test(name));
  });
}
