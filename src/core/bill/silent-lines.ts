/**
 * Resources of a bill with several SKUs that may be the machine, because none of their lines has a meter or a
 * description (Alibaba Cloud's FOCUS has none). Beside a meter of such a machine all of them count (links.ts); this
 * list makes the problem visible. Holds a bounded number of resources.
 */
import type { Charge, UsageRecord } from '../usage.js';
import { isOfMachines, namesNoHours } from './machine-hours.js';

const MOST_RESOURCES = 100_000;

export class SilentLines {
  /** By resource its only SKU so far; null: it has several. */
  private readonly skus = new Map<string, string | null>();
  private readonly services = new Map<string, boolean>();
  private readonly several: string[] = [];

  add({ provider, resource, sku, service, gpuModel, gpuParts }: UsageRecord, charge: Charge): void {
    if (charge.machineHours !== undefined || charge.category !== 'Usage') return;
    if (resource === null || sku === null || service === null || gpuModel !== null || gpuParts !== null) return;
    const name = `${provider} ${resource}`;
    const other = this.skus.get(name);
    if (other === null || other === sku || !this.isOfMachines(service) || namesNoHours(sku)) return;
    if (other === undefined && this.skus.size >= MOST_RESOURCES) return;
    this.skus.set(name, other === undefined ? sku : null);
    if (other !== undefined) this.several.push(resource);
  }

  /** For people; none if every line says what it is, or may be told by its resource. */
  get warnings(): string[] {
    const [first] = this.several;
    return first === undefined
      ? []
      : [
          `${this.several.length} machine(s), such as ${first}, have lines of several SKUs that say neither meter nor ` +
            'description: which of them are its hours is unknown, and all of them count in addition to metered usage ' +
            "until the bill is final; the provider's own bill tells them apart",
        ];
  }

  private isOfMachines(service: string): boolean {
    let is = this.services.get(service);
    if (is === undefined) this.services.set(service, (is = isOfMachines(service)));
    return is;
  }
}
