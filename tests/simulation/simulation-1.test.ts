/** scratch */
import { cpu } from '/tmp/sim/cpu.ts';
import { it, vi } from 'vitest';
import { Database } from '../../src/store/database.js';
import { freshDatabase } from '../support/database.js';
import { holdAppendOnly } from './append-only.js';
import { simulate } from './simulate.js';
import { newTally, addTally } from './tally.js';

vi.mock('node:crypto', async (original) => (await import('./randomness.js')).seeded(await original()));

it('some', async () => {
  const db = await Database.open((await freshDatabase()).url, 6);
  const all = newTally(); await holdAppendOnly(db);
  const [from, to] = (process.env['RANGE'] ?? '1-10').split('-').map(Number);
  for (let seed = from!; seed <= to!; seed++) {
    const t = performance.now(); const c = cpu();
    try { const tally = await simulate(db, seed); addTally(all, tally); if (process.env['EACH']) console.log(seed, Math.round(performance.now() - t), 'cpu', Math.round(cpu().node - c.node), cpu().pg - c.pg, JSON.stringify(tally)); } catch (e) { console.log(seed, e instanceof Error ? (e.name === 'Error' && e.constructor.name === 'LawBroken' ? e.message : e.stack) : e); }
  }
  console.log(JSON.stringify(all));
  await db.close();
}, 1e6);
