/** What is past its date is closed, cannot be approved meanwhile, and is open again where it is proposed again. */
import { describe, expect, it } from 'vitest';
import { approveRecommendation } from '../../src/application/action/set-action.js';
import type { Recommendation } from '../../src/core/policy/recommendation.js';
import { formatInstant, HOUR_MS } from '../../src/core/time.js';
import { ExpirySchedule } from '../../src/pipeline/expire.js';
import { testBursar } from '../support/bursar.js';
import { recommendation } from '../support/makers.js';

describe('a recommendation past its date', async () => {
  const { stores, db, clock } = await testBursar();
  const made = (): Recommendation => recommendation({ id: 'rec-1', expiresAt: formatInstant(clock.at + HOUR_MS) });
  const make = () =>
    db.transaction((tx) =>
      stores.recommendations.replaceOpen(tx, 'default', 'research', ['idle-stop'], [made()], clock.at),
    );
  const status = async () => (await stores.recommendations.get('default', 'rec-1'))?.status;
  const schedule = new ExpirySchedule(stores);

  it('is open until then', async () => {
    await make();
    clock.at += HOUR_MS - 1;
    await schedule.enqueueDue(clock.at);
    expect(await status()).toBe('open');
  });

  it('cannot be approved from then on, also before anybody has closed it', async () => {
    clock.at += 1;
    await expect(
      db.transaction((tx) => approveRecommendation(stores, tx, 'default', 'rec-1', 'ada', clock.at)),
    ).rejects.toThrow('has expired');
    expect(await status()).toBe('open');
  });

  it('is closed by the next look, and open again where it is proposed again', async () => {
    clock.at += 60_000;
    await schedule.enqueueDue(clock.at);
    expect(await status()).toBe('expired');
    await make();
    expect(await status()).toBe('open');
  });
});
