/**
 * The common ids of Azure's machines and scale sets for targets, meters, bills and nodes.
 *
 * Pure. Azure's own id of a resource is a path that ignores case; bills, nodes and the API write it differently. The
 * invariant: one machine has one id here, and two machines of one name in two resource groups have two. Sources:
 * learn.microsoft.com, "Resource naming rules" (names are case-insensitive and unique within their resource group; no
 * colon is allowed in any) and the cloud provider for Kubernetes (`azure:///subscriptions/...`).
 */

export interface AzureId {
  readonly kind: 'instance' | 'asg';
  /** `SUBSCRIPTION:GROUP:NAME`, of a uniform scale set's instance `SUBSCRIPTION:GROUP:SET:NUMBER`; in lower case. */
  readonly id: string;
}

const PATH =
  /^(?:azure:\/\/)?\/subscriptions\/([^/:]+)\/resourcegroups\/([^/:]+)\/providers\/microsoft\.compute\/(virtualmachines|virtualmachinescalesets)\/([^/:]+)(?:\/virtualmachines\/([^/:]+))?$/;

/** Null if the text is not an id of a virtual machine, a scale set or one of its instances. */
export function azureIdOf(text: string): AzureId | null {
  if (!text.startsWith('/') && !text.startsWith('azure:')) return null;
  const [, subscription, group, type, name, member] = PATH.exec(text.toLowerCase()) ?? [];
  if (type === undefined || (member !== undefined && type === 'virtualmachines')) return null;
  const id = [subscription, group, name, ...(member === undefined ? [] : [member])].join(':');
  return { kind: type === 'virtualmachines' || member !== undefined ? 'instance' : 'asg', id };
}
