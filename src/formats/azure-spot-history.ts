/**
 * Azure's spot prices of one region, collected daily: a column per instance, a row per day, `$` before the prices.
 *
 * An empty cell means that the instance was not offered that day. The region is the file's name (`us_east` is
 * `eastus`). GPUs by instance: the source's own mapping, and Microsoft's "NC, NCv2 and NCv3 series" for the memory of
 * the V100.
 */
import type { PriceFormat } from '../core/ports.js';
import { isoInstant } from '../core/time.js';
import { PriceRow } from './reading/price-row.js';
import { SpotPoints } from './reading/spot-series.js';
import { headerOf, readCsvTable, type Header, type RowReader } from './reading/table.js';
import { parseUsDate } from './reading/times.js';

const NAME = 'azure-spot-history';
const SIZE = /^N[CDV]\d+[a-z]*(?: v\d)?$/;
const REGIONS: Readonly<Record<string, string>> = {
  us_east: 'eastus',
  us_west_2: 'westus2',
  us_south_central: 'southcentralus',
};
const MODELS: Readonly<Record<string, string>> = { '': 'K80', ' v2': 'P100', ' v3': 'V100-16GB' };
const GPUS: Readonly<Record<string, number>> = {
  NC6: 1,
  NC6s: 1,
  NC12: 2,
  NC12s: 2,
  NC24: 4,
  NC24s: 4,
  NC24r: 4,
  NC24rs: 4,
};

export const format: PriceFormat = {
  kind: 'price',
  name: NAME,
  description: 'Azure spot prices of one region by day and instance',
  recognises: (input) => {
    const [first, ...others] = headerOf(input);
    return first === 'Date' && others.length > 0 && others.every((name) => SIZE.test(name));
  },
  async *read(input) {
    const points = new SpotPoints();
    const name = input.name.replace(/\.[^.]*$/, '');
    const region = REGIONS[name] ?? name;
    for await (const { rejects } of readCsvTable<never>(input, (header) =>
      prepare(header, points, region, `${NAME}: ${input.name}`),
    )) {
      if (rejects.length > 0) yield { events: [], rejects };
    }
    for (const events of points.events()) yield { events, rejects: [] };
  },
};

function prepare(header: Header, points: SpotPoints, region: string, source: string): RowReader<never> {
  const date = header.required('Date');
  const columns = header.columns
    .filter((name) => name !== 'Date')
    .map((name) => ({ name, column: header.required(name), ...gpusOf(name) }));
  return (cells, _out, problems) => {
    const row = new PriceRow(cells, problems);
    const at = row.instant(date, 'Date', (text) => (text.includes('/') ? parseUsDate(text) : isoInstant(text)));
    const prices = columns.map(({ name, column }) => row.price(column, name));
    if (!row.sound) return;
    for (const [index, { name, gpuModel, gpus }] of columns.entries()) {
      points.add(
        { provider: 'Microsoft', sku: name, region, gpuModel, gpus, currency: 'USD', source },
        at,
        prices[index] ?? null,
      );
    }
  };
}

function gpusOf(size: string): { gpuModel: string | null; gpus: number | null } {
  const [name = '', version] = size.split(' ');
  const gpus = GPUS[name] ?? null;
  return { gpuModel: gpus === null ? null : (MODELS[version === undefined ? '' : ` ${version}`] ?? null), gpus };
}
