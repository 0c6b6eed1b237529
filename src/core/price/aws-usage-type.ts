/**
 * The meaning of AWS' usage types: the volumes and traffic that they charge, under AWS' names without the region prefix
 * (`USW2-EBS:VolumeUsage.gp3` is `EBS:VolumeUsage.gp3`), and the hours of machines.
 *
 * The meter, the price list and every form of the bill use this one rule, so that a meter stands for the lines of its
 * own SKU and for no others. Any other usage type is null, never a guess. Source: AWS Data Exports User Guide, "Cost
 * and Usage Report line item details" (lineItem/UsageType); AWS Price List, attribute `usagetype`.
 */

/** The outgoing traffic of a machine, as CloudWatch counts it, under a bill's name for traffic that leaves AWS. */
export const TRAFFIC_SKU = 'DataTransfer-Out-Bytes';

const VOLUME = /^(?:[A-Z0-9]+-)*(EBS:Volume[\w.-]*)$/;
const TRAFFIC = /^(?:[A-Z0-9]+-)*(DataTransfer-Out-Bytes)$/;

/** The SKU of a usage type of volumes or of traffic to the internet; null for every other. */
export function storageOrTrafficSku(usageType: string): string | null {
  return (VOLUME.exec(usageType) ?? TRAFFIC.exec(usageType))?.[1] ?? null;
}

/** EC2 usage types that are hours of a machine: `USW2-BoxUsage:p4d.24xlarge`, `SpotUsage:g5.xlarge`; `BoxUsage`. */
const MACHINE_HOURS =
  /(?:^|-)(?:BoxUsage|SpotUsage|DedicatedUsage|UnusedBox|UnusedDed|SchedUsage|HeavyUsage|Reservation|HostBoxUsage)(?::([a-z0-9-]+\.[a-z0-9-]+))?$/;

/** The machine whose hours an AWS usage type charges; null if it charges something else. */
export function awsMachineOf(usageType: string): string | null {
  return MACHINE_HOURS.exec(usageType)?.[1] ?? null;
}

/** EC2 as a product code, as a product's name and as FOCUS' ServiceName. */
const EC2 = /^(?:AmazonEC2|(?:Amazon |AWS )?(?:EC2|Elastic Compute Cloud)\b.*)$/i;
/** A machine as EC2 names one: `p5.48xlarge`; other services' are `ml.p5.48xlarge`, `db.r5.large`. */
const EC2_TYPE = /^[a-z0-9-]+\.[a-z0-9-]+$/;

/**
 * Whether a line charges hours of EC2's machines, by its service (or product code) and usage type: EMR, EKS and the
 * marketplace have usage types of the same names. Null if neither says.
 */
export function isAwsMachineHours(service: string, usageType: string): boolean | null {
  if (service !== '' && !EC2.test(service)) return false;
  return usageType === '' ? null : MACHINE_HOURS.test(usageType);
}

/**
 * The machine that a line's SKU is, from the instance type that it states, otherwise its usage type; null if what it
 * charges is none of EC2's machines, though it names one.
 */
export function awsMachine(isHours: boolean | null, stated: string | null, usageType: string): string | null {
  if (isHours === false) return stated === null || EC2_TYPE.test(stated) ? null : stated;
  return stated ?? awsMachineOf(usageType);
}
