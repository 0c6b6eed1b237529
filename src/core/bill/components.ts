/**
 * Finds the components (billable items) of an instance that are the machine itself: its cores, memory and GPUs. Its
 * disks, bandwidth, traffic, images and snapshots are charged under the same instance but are other components. It uses
 * an allowlist: a name without a word of a machine is never taken for one.
 *
 * The words are those of Tencent Cloud's and Alibaba Cloud's bills, in both languages, and of the codes beside them:
 * Tencent Cloud, Billing API (2018-07-09), DescribeBillDetail, BillDetailComponent and the examples of that page
 * (`virtual_v_cvm_compute`, `v_cvm_rootdisk`, `v_cvm_bandwidth`; 运算组件, 系统盘, 带宽); Alibaba Cloud, BSS OpenAPI
 * (2017-12-14), DescribeInstanceBill (BillingItem, BillingItemCode) and the modules by which ECS is priced
 * (DescribePricingModule: InstanceType, SystemDisk, DataDisk, InternetMaxBandwidthOut, InternetTrafficOut, ImageOs).
 */
const MACHINE = /cpu|gpu|memory|comput|instance|server|内存|计算|运算|算力|实例|云服务器/i;
const OTHER =
  /disk|bandwidth|traffic|image|storage(?![ -]optimi[sz]ed)|snapshot|盘|带宽|流量|镜像|存储(?!优化|增强)|快照/i;

/** Whether a text names something that is charged beside the machine. */
export const namesOther = (text: string): boolean => OTHER.test(text);

/** Whether a text names a machine or its parts. */
export const namesMachine = (text: string): boolean => MACHINE.test(text);

/** Whether a component is the machine, by what it is called; null if nothing is said. */
export function isMachineComponent(...names: readonly string[]): boolean | null {
  const text = names.join(' ').trim();
  return text === '' ? null : namesMachine(text) && !namesOther(text);
}
