/**
 * `nvidia-smi -q`, as indented text or, with `-x`, as XML: both become one tree of names, from which a card's values
 * are read, including MIG devices. The XML contains elements, text, the five entities of XML 1.0, and attributes that
 * nothing needs. This file reads that much without a library.
 */
import { daysFromCivil, DAY_MS, HOUR_MS, MINUTE_MS, offsetAt } from '../../core/time.js';
import { wordOf, type SmiRead, type SmiRow } from './smi-cells.js';

interface Node {
  /** Lower case, words joined by `_`, as the XML writes them. */
  readonly name: string;
  text: string;
  readonly children: Node[];
}

const nodeOf = (name: string, text = ''): Node => ({
  name: name
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_'),
  text: text.trim(),
  children: [],
});

export const isQueryText = (text: string): boolean => text.includes('NVSMI LOG');
export const isQueryXml = (text: string): boolean => /^\s*<\?xml|<nvidia_smi_log\b/.test(text.slice(0, 2000));

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Tue Jul 14 09:00:27 2026` on the clocks of a zone. */
function instantOf(text: string, zone: string): number | null {
  const match = /^\w{3} (\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})$/.exec(text);
  const month = match === null ? 0 : MONTHS.indexOf(match[1] ?? '') + 1;
  if (match === null || month === 0) return null;
  const local =
    daysFromCivil(Number(match[6]), month, Number(match[2])) * DAY_MS +
    Number(match[3]) * HOUR_MS +
    Number(match[4]) * MINUTE_MS +
    Number(match[5]) * 1000;
  return local - offsetAt(zone, local - offsetAt(zone, local));
}

/** Indentation nests; ` : ` parts a name from its value. A card's own line is `GPU <bus id>`. */
function textTree(text: string): Node {
  const root = nodeOf('nvidia_smi_log');
  const open: { indent: number; node: Node }[] = [{ indent: -1, node: root }];
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '' || line.startsWith('=')) continue;
    const indent = line.length - line.trimStart().length;
    const parts = /^(.*?)\s+:(?:\s(.*))?$/.exec(line.trim());
    const node =
      parts === null ? nodeOf(/^GPU [0-9A-Fa-f]+:/.test(line) ? 'gpu' : line, '') : nodeOf(parts[1] ?? '', parts[2]);
    if (parts === null && node.name === 'gpu' && indent === 0) node.text = line.slice(4).trim();
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    (open.at(-1)?.node ?? root).children.push(node);
    open.push({ indent, node });
  }
  return root;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Null if a tag is closed that is not open, or one stays open. */
function xmlTree(text: string): Node | null {
  const root = nodeOf('document');
  const open: Node[] = [root];
  for (const [, closing, name = '', attributes = '', empty, chars] of text
    .replace(/<\?[^]*?\?>|<!--[^]*?-->|<!DOCTYPE[^>]*>/g, '')
    .matchAll(/<(\/?)([\w.-]+)((?:\s[^>]*?)?)(\/?)>|([^<]+)/g)) {
    const top = open.at(-1);
    if (top === undefined) return null;
    if (chars !== undefined)
      top.text = (top.text + chars.replace(/&(\w+);/g, (whole, entity: string) => ENTITIES[entity] ?? whole)).trim();
    else if (closing === '/') {
      if (top === root || top.name !== nodeOf(name).name) return null;
      open.pop();
    } else {
      const node = nodeOf(name, /\bid="([^"]*)"/.exec(attributes)?.[1]);
      top.children.push(node);
      if (empty !== '/') open.push(node);
    }
  }
  return open.length === 1 ? (root.children.find((node) => node.name === 'nvidia_smi_log') ?? null) : null;
}

const child = (node: Node | undefined, name: string): Node | undefined =>
  node?.children.find((one) => one.name === name);

/** The text at the first of the paths that is there. */
function at(node: Node, ...paths: readonly string[]): string | null {
  for (const path of paths) {
    const found = path.split('/').reduce<Node | undefined>((here, name) => child(here, name), node);
    if (found !== undefined) return found.text;
  }
  return null;
}

/** Every look in the output, in its order. Paths: first as the text names them, then as the XML does. */
export function readQuery(text: string, zone: string): SmiRead {
  const isXml = isQueryXml(text);
  const queries = isXml
    ? text.split(/(?=<\?xml)/).filter((part) => part.includes('<nvidia_smi_log'))
    : text.split(/(?==+NVSMI LOG=+)/).filter(isQueryText);
  const rows: SmiRow[] = [];
  const problems: string[] = [];
  for (const query of queries) {
    const tree = isXml ? xmlTree(query) : textTree(query);
    if (tree === null) problems.push('an answer is not whole XML');
    else
      for (const gpu of tree.children.filter(({ name }) => name === 'gpu'))
        rows.push(...rowsOf(gpu, instantOf(at(tree, 'timestamp') ?? '', zone)));
  }
  return { rows, problems };
}

function rowsOf(gpu: Node, when: number | null): SmiRow[] {
  const card: SmiRow = {
    at: when,
    host: null,
    uuid: wordOf(at(gpu, 'gpu_uuid', 'uuid')),
    index: wordOf(at(gpu, 'minor_number')) ?? gpu.text,
    migInstance: null,
    name: wordOf(at(gpu, 'product_name')),
    utilisation: at(gpu, 'utilization/gpu', 'utilization/gpu_util'),
    memoryUsed: at(gpu, 'fb_memory_usage/used'),
    memoryTotal: at(gpu, 'fb_memory_usage/total'),
    temperature: at(gpu, 'temperature/gpu_current_temp', 'temperature/gpu_temp'),
    power: at(
      gpu,
      'gpu_power_readings/average_power_draw',
      'gpu_power_readings/power_draw',
      'power_readings/power_draw',
    ),
    pcieReplays: at(gpu, 'pci/replays_since_reset', 'pci/replay_counter'),
    recoveryAction: wordOf(at(gpu, 'gpu_recovery_action')),
  };
  const devices = [...gpu.children, ...(child(gpu, 'mig_devices')?.children ?? [])].filter(
    ({ name }) => name === 'mig_device',
  );
  return [
    card,
    ...devices.map(
      (device): SmiRow => ({
        ...card,
        migInstance: wordOf(at(device, 'gpu_instance_id')) ?? wordOf(at(device, 'index')),
        utilisation: null,
        power: null,
        memoryUsed: at(device, 'shared_fb_memory_usage/used', 'fb_memory_usage/used'),
        memoryTotal: at(device, 'shared_fb_memory_usage/total', 'fb_memory_usage/total'),
      }),
    ),
  ];
}
