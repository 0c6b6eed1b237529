/**
 * Decides whether a line of a bill charges a machine's own hours, by its vendor's words for service, meter, description
 * and unit. Null: the line does not say. A meter stands for a line that is true; for a line that is null it stands only
 * by the line's machine or its resource (links.ts). Never guesses by amounts.
 *
 * Followed: FOCUS 1.2 to 1.4, ServiceName, SkuMeter, ChargeDescription, and its "Unit format" (`GB-Hours`); the units
 * of FOCUS' own sample data (Oracle: `OCPU Per Hour`, `GB Hours`, `Gigabyte Per Hour`); Google, "FOCUS" view of the
 * billing export (ChargeDescription is sku.description) and the names of its SKU explorer; Microsoft, "FOCUS cost and
 * usage details" (x_SkuMeterCategory, x_SkuMeterName); AWS, lineItem/LineItemDescription; Oracle, the products of its
 * price list (`Compute - Standard - E4 - OCPU`, `Marketplace Compute Image - Microsoft SQL Enterprise`); Tencent Cloud,
 * "FOCUS 1.0 (Preview) Conformance Gaps" (every ChargeDescription is a URL); Alibaba Cloud, "Field Differences of
 * Alibaba Cloud FOCUS 1.0 (Preview)" (there is none).
 */
import { namesMachine, namesOther } from './components.js';

/** Charges other than a machine's hours, by vendors' names of SKUs, meters and services. */
const NOT_HOURS =
  /transfer|egress|\bnetwork(?![ -]optimi[sz]ed)|\bvolumes?\b|^ebs:|^cw:|cloudwatch|monitor|licen[cs]|marketplace|software|ip address|backup|recovery|red hat|\brhel\b|\bsuse\b|\bsles\b|ubuntu pro|sql server|\bwindows os\b|hybrid benefit|operating system|^(?:windows )?\d+ vcpu|\be?ips?\b|公网|网络(?!优化|增强)|许可|授权|备份|监控|操作系统|软件|云市场/i;

/** Services that charge the hours of machines. */
const OF_MACHINES =
  /\b(?:compute|virtual machines?|vms?|instances?|gpus?|ec2|ecs|cvm|servers?|bare[ -]?metal|pods?|machines?(?! learning))\b|云服务器|裸金属|实例|算力/i;

/** Whether a name is that of a charge other than a machine's hours. */
export const namesNoHours = (name: string): boolean => NOT_HOURS.test(name) || namesOther(name);

/** Whether a line may be a machine's hours, by its service and other names (its meter). */
export const isOfMachines = (service: string, ...others: readonly string[]): boolean =>
  OF_MACHINES.test(service) && ![service, ...others].some(namesNoHours);

/** `Hours`, `100 Hours`, `OCPU Per Hour`, `GB Hours`, `byte-seconds`, `1/Hour`, `1 小时`: of what it is hours, if it is. */
const TIMES =
  /^(?:\d+ ?)?(?:\/ ?)?(?:(.*?\D)[ /-]+(?:per[ -])?)?(?:hours?|hrs?|h|minutes?|min|seconds?|s|小时|horas?|heures?|stunden?)$/i;
const OF_WHOLE =
  /^(?:units?|instances?|machines?|vms?|nodes?|servers?|hosts?|pods?|gpus?|accelerators?|[oev]?cpus?|v?cores?)$/i;
const OF_BYTES = /^(?:[kmgtp]i?b|[a-z]*bytes?)$/i;
/** Units of traffic, of storage by the month, or of pieces. */
const NO_TIME =
  /^(?:\d+ ?)?(?:[kmgtp]?i?b|[a-z]*bytes?)\b|\bmonths?\b|[/-]mo\b|\b(?:requests?|transactions?|operations?|queries|messages?|events?)\b/i;
const MEMORY = /\b(?:memory|ram)\b/i;

type Quantity = 'machines' | 'bytes' | 'other' | 'none';

/** The quantity that a unit counts by time; `none` if it certainly counts no time. */
function timesOf(unit: string): Quantity {
  const match = TIMES.exec(unit);
  if (match === null) return unit === '' ? 'machines' : NO_TIME.test(unit) ? 'none' : 'other';
  const [, what] = match;
  if (what === undefined || OF_WHOLE.test(what)) return 'machines';
  return OF_BYTES.test(what) ? 'bytes' : 'other';
}

/** Whether a unit may count time; of machines: surely. */
export const countsTime = (unit: string): boolean => timesOf(unit) !== 'none';
export const countsMachines = (unit: string): boolean => timesOf(unit) === 'machines';

const COMPUTE_ENGINE = 'Compute Engine';
/**
 * A machine of Google's by its parts: `A2 Instance Core running in Americas`, `Nvidia Tesla A100 GPU attached to Spot
 * Preemptible VMs running in Iowa`, `Reserved A2 Instance Ram in Iowa`, `TpuV5e running in Oregon`.
 */
const PARTS = /\b(?:Cores?|Ram|V?CPU|GPU|TPU|TpuV?\w*)\b/i;
/** Charges that name a machine's parts but are not these parts. */
const NOT_PARTS =
  /Licen[cs]|^Commitment\b|\bPremium\b|\bStorage\b|\bDisk\b|\bPD\b|Egress|\bNetwork\b|Snapshot|\bImage\b/i;

/** Whether a line is Google's, by its meter and its description, one of which may be the exporter's own words. */
const isGoogleLine = (service: string, meter: string, description: string): boolean | null =>
  NOT_PARTS.test(meter) || NOT_PARTS.test(description)
    ? false
    : isGoogleMachineHours(service, PARTS.test(meter) ? meter : description || meter);

/** Whether a SKU of Google's is a machine's own hours; null if it is not described. */
export function isGoogleMachineHours(service: string, description: string): boolean | null {
  if (service !== '' && service !== COMPUTE_ENGINE) return false;
  return description === '' ? null : PARTS.test(description) && !NOT_PARTS.test(description);
}

/** A machine of EC2's in a description: `$1.624 per On Demand Linux g5.4xlarge Instance Hour`. */
const EC2_MACHINE = /\b[a-z][a-z0-9-]*\d[a-z0-9-]*\.(?:\d*x?large|medium|small|micro|nano|metal[\w-]*)\b/i;
const NOT_EC2_MACHINE = /\bMbps\b|capacity block|data transfer/i;

/**
 * The verdict of AWS' description, if there is no usage type; null if the line's machine, or its unit and service, must
 * decide.
 */
function isEc2Description(text: string, statesMachine: boolean): boolean | null {
  if (NOT_EC2_MACHINE.test(text)) return false;
  if (text === '' || statesMachine) return null;
  return EC2_MACHINE.test(text) && /instance/i.test(text);
}

/** A machine of Oracle's by its shape or by its parts: `GPU - H100`, `Standard - A1`, `Standard - E4 - Memory`. */
const ORACLE_MACHINE =
  /\b(?:GPU\d*|[OE]CPUs?|Memory|HPC|Dense ?I\/?O\d*|High ?I\/?O|Optimized|Ampere|Bare Metal|Virtual Machine|[BV]M)\b|\bStandard ?-? ?[A-Z]\d/i;
/** Charged by the machine's OCPUs or GPUs, and no part of it. */
const NOT_ORACLE_MACHINE = /microsoft|windows|\bsql\b|enterprise|linux|dedicated/i;

const CHINESE_CLOUD = /^(?:Alibaba|Aliyun|Tencent|阿里云|腾讯云)/i;
/** A unit that alone tells that machines are counted: hours, cores and units are also counted of licences and disks. */
const OF_MACHINE = /\b(?:gpu|accelerator|instance|machine|vm|node|server|host|pod)s?\b/i;

/** The words of a line about its charge. Empty if it has none. */
export interface LineWords {
  readonly provider: string;
  readonly service: string;
  /** The vendor's meter, as far as it names one. */
  readonly meter: string;
  readonly description: string;
  readonly unit: string;
  /** The line states a machine: its type or its GPUs. */
  readonly statesMachine: boolean;
}

/** Whether the line is a machine's own hours, see the head of this file. */
export function isMachineHours(words: LineWords): boolean | null {
  const { provider, service, meter, unit, statesMachine } = words;
  const description = URL_TEXT.test(words.description) ? '' : words.description;
  const times = timesOf(unit);
  // Traffic and disks state their machine too.
  if (times === 'none') return false;
  if (provider === 'AWS') {
    const known = isEc2Description(description, statesMachine);
    if (known !== null) return known;
  }
  const isSilent = meter === '' && description === '';
  if (provider === 'Google Cloud' && !isSilent) return isGoogleLine(service, meter, description);
  // AWS' descriptions of hours name the system, which is in them: `per On Demand RHEL p5.48xlarge Instance Hour`.
  const text = meter === '' && provider !== 'AWS' ? description : meter;
  if (namesNoHours(service) || namesNoHours(text)) return false;
  if (provider === 'Oracle' && !isSilent && !isOracleMachine(description || meter)) return false;
  if (statesMachine || service === '') return null;
  if (!isOfMachines(service)) return false;
  if (times === 'bytes') return isSilent ? null : MEMORY.test(`${meter} ${description}`);
  if (times !== 'machines') return null;
  if (isSilent) return OF_MACHINE.test(unit) ? true : null;
  return CHINESE_CLOUD.test(provider) && !namesMachine(text) ? null : true;
}

/** In place of a description. */
const URL_TEXT = /^https?:\/\//i;

const isOracleMachine = (text: string): boolean => ORACLE_MACHINE.test(text) && !NOT_ORACLE_MACHINE.test(text);
