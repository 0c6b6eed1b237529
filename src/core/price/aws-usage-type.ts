/**
 * What AWS' usage types of volumes and of traffic are called here: as AWS names them, without the region that stands
 * before (`USW2-EBS:VolumeUsage.gp3` is `EBS:VolumeUsage.gp3`).
 *
 * The meter, the price list and every form of the bill name them by this one rule, so that a meter stands for the lines
 * of its own SKU and for no others. What is neither is null, never a guess. Source: AWS Data Exports User Guide, "Cost
 * and Usage Report line item details" (lineItem/UsageType); AWS Price List, attribute `usagetype`.
 */

/** What leaves a machine, as CloudWatch counts it and as a bill calls what leaves AWS. */
export const TRAFFIC_SKU = 'DataTransfer-Out-Bytes';

const VOLUME = /^(?:[A-Z0-9]+-)*(EBS:Volume[\w.-]*)$/;
const TRAFFIC = /^(?:[A-Z0-9]+-)*(DataTransfer-Out-Bytes)$/;

/** The SKU of a usage type of volumes or of traffic to the internet; null for every other. */
export function storageOrTrafficSku(usageType: string): string | null {
  return (VOLUME.exec(usageType) ?? TRAFFIC.exec(usageType))?.[1] ?? null;
}
