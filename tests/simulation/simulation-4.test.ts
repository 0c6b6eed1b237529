/**
 * The fourth quarter of the seeds: world.ts is what is simulated, laws.ts and recount.ts what must hold, seeds.ts says
 * which seeds.
 */
import { vi } from 'vitest';
import { simulateShare } from './seeds.js';

vi.mock('node:crypto', async (original) => (await import('./randomness.js')).seeded(await original()));

await simulateShare(4, 4);
