/** Every sample of an organisation, as readers see them, in the order of minutes and GPUs. */
import type { Database } from '../../src/store/database.js';
import { MEASURES, placeOf, type Measure, type SampleGroup } from '../../src/store/fleet/sample-block.js';
import { samplesByResource } from '../../src/store/fleet/sample-reading.js';

export type ReadSample = SampleGroup &
  Readonly<Record<Measure, number | null>> & {
    readonly source: string;
    readonly at: Date;
    readonly seenAt: Date;
    readonly fault: string | null;
  };

export async function readSamplesOf(db: Database, organisation = 'default'): Promise<ReadSample[]> {
  const teams = await db.query<{ team: string }>(
    `select team from sample_recent union select team from sample_hour union select team from sample`,
  );
  const filter = { teams: teams.map(({ team }) => team), first: 0, last: Date.UTC(2100, 0, 1) };
  const found: ReadSample[] = [];
  for await (const { samples } of samplesByResource(db, organisation, filter)) {
    for (const { device, minute, group, at } of samples) {
      const value = (measure: Measure): number | null => {
        const number = device.value(placeOf(measure), minute);
        return Number.isNaN(number) ? null : number;
      };
      found.push({
        ...group,
        ...(Object.fromEntries(MEASURES.map((measure) => [measure, value(measure)])) as Record<Measure, number | null>),
        source: device.source,
        at: new Date(at),
        seenAt: new Date(device.seenAt[minute] ?? Number.NaN),
        fault: device.fault(minute),
      });
    }
  }
  return found.sort((a, b) => a.at.getTime() - b.at.getTime() || (a.gpu < b.gpu ? -1 : a.gpu > b.gpu ? 1 : 0));
}
