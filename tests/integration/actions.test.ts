/**
 * Actions from the recommendation to the proof, on a real database and a cloud in memory: what is done, what is not,
 * and that nothing is done twice.
 */
import { run } from '../../src/cli/program.js';
import { localOfComposed } from '../support/local.js';
import { beforeEach, describe, expect, it } from 'vitest';
import { waitOf, type Action } from '../../src/core/action/action.js';
import { unavailable } from '../../src/core/errors.js';
import { HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { Runner } from '../../src/pipeline/runner.js';
import type { Stage } from '../../src/pipeline/stage.js';
import { approveRecommendation, rejectAction } from '../../src/application/action/set-action.js';
import { enqueue } from '../../src/store/work.js';
import { actingWorld, codesOf, NOW, step, type ActingWorld } from '../support/acting.js';
import { group, instance, meeting } from '../support/memory-cloud.js';

describe('a share of spot', async () => {
  const w = await actingWorld();

  it('is proven by what it is about and by what runs, not by the setting alone', async () => {
    const labels = { 'bursar:target': 'asg/train' };
    const members = ['m-1', 'm-2'].map((name) => instance(name, { term: 'on-demand', labels }));
    w.cloud.add(group('train', 2, { spotRatio: 0, onDemandBase: 1 }));
    const reading = { at: NOW, targets: members, complete: true, problems: [] };
    await w.stores.fleet.save(w.db, 'default', 'cloud', reading, () => 'lab');
    w.script.wants = [{ action: 'MoveToSpot', target: 'train' }];
    await w.document('enforce');
    await w.look();
    await w.pass(MINUTE_MS);
    const [action] = await w.all();
    expect(action).toMatchObject({
      state: 'confirmed',
      reasons: [
        {
          code: 'spot-share',
          message:
            'of new machines above a base of 1, which is on demand, 100 % are launched on spot; of 2 that run 2 are on demand and 0 on spot',
        },
      ],
    });
  });
});

describe('the whole way', async () => {
  const w = await actingWorld();
  const first = async (): Promise<Action> => (await w.all())[0]!;

  it('a recommendation in mode approve becomes one proposal, however often it is looked at', async () => {
    w.cloud.add(instance('i-1'));
    w.script.wants = [{ action: 'Stop', target: 'i-1' }];
    await w.document('approve');
    await w.look();
    await w.look(MINUTE_MS);
    expect(await w.all()).toHaveLength(1);
    expect(await first()).toMatchObject({
      state: 'proposed',
      team: 'lab',
      connection: 'cloud',
      target: 'instance/i-1',
      effect: { kind: 'stop', target: 'instance/i-1' },
      proposedBy: 'policy:doc',
      approvedBy: null,
    });
    expect(await w.recommendation()).toMatchObject({ status: 'open', actionId: (await first()).id, obstacle: null });
    // The second look is newer evidence.
    expect((await first()).evidenceAt).toBe(NOW + MINUTE_MS);
    expect(w.cloud.done).toEqual([]);
  });

  it('approved it is intended, sent once, and waits for the end of billing', async () => {
    w.cloud.endsBilling = false;
    await w.approve((await first()).id);
    await w.pass(0);
    const action = await first();
    expect(action).toMatchObject({
      state: 'applied',
      token: `bursar-${action.id}`,
      before: { state: 'running' },
      beforeAt: NOW + MINUTE_MS,
      askedAt: NOW + MINUTE_MS,
      approvedBy: 'boss',
    });
    expect(w.cloud.done).toEqual([{ token: action.token, effect: { kind: 'stop', target: 'instance/i-1' } }]);
    expect(await w.recommendation()).toMatchObject({ status: 'approved', decidedBy: 'boss' });
  });

  it('and what would have held without it is written down in the same commit, long before its effect shows', async () => {
    const { id, appliedAt } = await first();
    const written = await w.stores.db.query<{ from: Date; at: Date; spec: { world: unknown } }>(
      `select from_at as from, written_at as at, spec from counterfactual where action = $1`,
      [id],
    );
    expect(written).toMatchObject([
      { from: new Date(appliedAt ?? 0), at: new Date(appliedAt ?? 0), spec: { world: { kind: 'held' } } },
    ]);
  });

  it('says after half an hour that billing has not ended, and goes on looking every hour', async () => {
    await w.pass(10 * MINUTE_MS);
    expect(await w.codes((await first()).id)).toEqual(['proposed', 'approved', 'intended', 'asked', 'applied']);
    for (let n = 0; n < 3; n++) await w.pass(HOUR_MS);
    expect(await first()).toMatchObject({ state: 'applied', reasons: [{ code: 'billing-not-ended' }] });
    expect((await w.codes((await first()).id)).filter((code) => code === 'billing-not-ended')).toHaveLength(1);
  });

  it('confirms with the reading that proves it', async () => {
    w.cloud.change('instance/i-1', { billing: 'ended' });
    await w.pass(HOUR_MS);
    expect(await first()).toMatchObject({
      state: 'confirmed',
      after: { state: 'stopped', billing: 'ended' },
      reasons: [],
    });
    expect((await first()).afterAt).toBe((await first()).confirmedAt);
    expect(await w.codes((await first()).id)).toEqual([
      'proposed',
      'approved',
      'intended',
      'asked',
      'applied',
      'billing-not-ended',
      'confirmed',
    ]);
    expect(await w.stores.work.waiting(w.clock.at)).toBe(0);
  });

  it('is asked for again only when newer evidence asks, and then anew', async () => {
    // It is stopped: nothing is left to do.
    await w.look(HOUR_MS);
    expect(await w.all()).toHaveLength(1);
    expect(await w.recommendation()).toMatchObject({ status: 'open', obstacle: { code: 'already-so' } });
    w.cloud.add(instance('i-1'));
    await w.look(MINUTE_MS);
    expect((await w.all()).map(({ state }) => state)).toEqual(['confirmed', 'proposed']);
  });

  it('what its policy drops is withdrawn, what it changes is proposed anew', async () => {
    w.cloud.add(group('web', 4));
    w.script.wants = [{ action: 'ScaleIn', target: 'web', change: { replicas: 3 } }];
    await w.look(MINUTE_MS);
    w.script.wants = [{ action: 'ScaleIn', target: 'web', change: { replicas: 2 } }];
    await w.look(MINUTE_MS);
    const [, stop, three, two] = await w.all();
    expect([stop, three, two].map((one) => [one?.state, one === undefined ? null : codesOf(one)])).toEqual([
      ['refused', ['superseded']],
      ['refused', ['superseded']],
      ['proposed', []],
    ]);
    expect(two?.effect).toEqual({ kind: 'scale', target: 'asg/web', replicas: 2 });
    await expect(w.approve(three!.id)).rejects.toThrow('is refused, not proposed');
  });
});

describe('a scale-in whose machines are held by a lifecycle hook', async () => {
  const w = await actingWorld();
  const only = async () => (await w.all())[0]!;
  const hooks = [{ name: 'drain', seconds: 7200 }];
  const settings = { protectedMembers: 0, suspended: [], hooks, policies: [] };

  it('is proven with how many still leave and are paid for, and keeps no other action of the group waiting', async () => {
    w.cloud.add(group('g', 4, { group: settings, labels: { team: 'lab' } }));
    w.script.wants = [{ action: 'ScaleIn', target: 'asg/g', change: { replicas: 2 } }];
    await w.document('enforce');
    w.cloud.beforeRead = async () => {
      if (w.cloud.done.length > 0 && w.cloud.targets.get('asg/g')?.leaving === undefined)
        w.cloud.change('asg/g', { leaving: 2 });
    };
    await w.look();
    expect(await only()).toMatchObject({
      state: 'confirmed',
      reasons: [
        {
          code: 'draining',
          message:
            'draining: 2 members still leave, and are paid for until they are gone, held by the lifecycle hook drain (up to 7200 seconds)',
        },
      ],
    });
    w.script.wants = [{ action: 'ScaleOut', target: 'asg/g', change: { replicas: 3 } }];
    // The cooldown alone is waited for.
    await w.look(31 * MINUTE_MS);
    const last = (await w.all()).at(-1)!;
    expect([last.effect, last.state, last.reasons]).toEqual([
      { kind: 'scale', target: 'asg/g', replicas: 3 },
      'confirmed',
      [],
    ]);
  });
});

describe('what nothing carries out', async () => {
  const w = await actingWorld();

  it('stays a recommendation and says why', async () => {
    w.script.wants = [{ action: 'Stop', target: 'nobody-knows' }];
    await w.document('enforce');
    await w.look();
    expect(await w.all()).toEqual([]);
    expect(await w.recommendation()).toMatchObject({
      status: 'open',
      obstacle: { code: 'no-target', message: 'no connection knows nobody-knows' },
      actionId: null,
    });
  });

  it('in mode recommend acts only when a person approves', async () => {
    await w.document('recommend');
    w.cloud.add(instance('nobody-knows'));
    await w.look(MINUTE_MS);
    expect(await w.all()).toEqual([]);
    const { id } = await w.recommendation();
    const { action } = await w.db.transaction((tx) =>
      approveRecommendation(w.stores, tx, 'default', id, 'boss', w.clock.at),
    );
    expect(action).toMatchObject({ state: 'approved', approvedBy: 'boss', mode: 'recommend' });
    await w.pass(0);
    expect((await w.all()).map(({ state }) => state)).toEqual(['confirmed']);
  });
});

describe('an answer that does not come', async () => {
  let w: ActingWorld;
  const worlds = [
    await actingWorld(),
    await actingWorld(),
    await actingWorld(),
    await actingWorld(),
    await actingWorld(),
    await actingWorld(),
    await actingWorld(),
    await actingWorld(),
  ];
  beforeEach(async () => {
    w = worlds.pop()!;
    w.cloud.add(instance('i-1'));
    w.script.wants = [{ action: 'Stop', target: 'i-1' }];
    await w.document('enforce');
  });
  const only = async (): Promise<Action> => {
    const all = await w.all();
    expect(all).toHaveLength(1);
    return all[0]!;
  };

  it('is asked for, not sent again', async () => {
    w.cloud.faults.push('lost');
    await w.look();
    expect(await only()).toMatchObject({ state: 'intended', askedAt: NOW, reasons: [{ code: 'outcome-unknown' }] });
    await w.pass(5000);
    expect(await only()).toMatchObject({ state: 'confirmed', approvedBy: 'policy:doc' });
    expect(w.cloud.arrived).toBe(1);
  });

  it('because the process died after the provider took it: it is found, not sent again', async () => {
    w.cloud.faults.push('crash-after');
    await w.look();
    await w.pass(5000);
    expect((await only()).state).toBe('confirmed');
    expect(w.cloud.arrived).toBe(1);
    expect(await w.codes((await only()).id)).toEqual([
      'proposed',
      'approved',
      'intended',
      'asked',
      'outcome-unknown',
      'applied',
      'confirmed',
    ]);
  });

  it('because the process died before it asked: it is sent again when no request can be under way', async () => {
    w.cloud.faults.push('crash-before');
    await w.look();
    await w.pass(5000);
    expect(await only()).toMatchObject({ state: 'intended', askedAt: NOW });
    expect(w.cloud.arrived).toBe(0);
    await w.pass(MINUTE_MS);
    expect((await only()).state).toBe('confirmed');
    expect(w.cloud.arrived).toBe(1);
  });

  it('and that nobody can tell is a failure after its limit, and frees the target', async () => {
    w.cloud.faults.push('lost');
    w.cloud.tells = false;
    await w.look();
    for (let n = 0; n < 7; n++) await w.pass(HOUR_MS);
    expect(await only()).toMatchObject({ state: 'failed', reasons: [{ code: 'outcome-unknown' }] });
    expect(w.cloud.arrived).toBe(1);
  });

  it('because nothing could be sent is tried again; what is not sent in time is refused', async () => {
    w.cloud.faults.push('not-sent', 'not-sent');
    await w.look();
    expect(await only()).toMatchObject({ state: 'intended', askedAt: null, reasons: [{ code: 'not-sent' }] });
    await w.pass(5000);
    await w.pass(5000);
    expect(await only()).toMatchObject({ state: 'confirmed', reasons: [] });
    w.cloud.change('instance/i-1', { state: 'running', billing: 'billed' });
    w.cloud.faults.push(...Array.from({ length: 20 }, () => 'not-sent' as const));
    await w.look(2 * HOUR_MS);
    await w.pass(11 * MINUTE_MS);
    const [, second] = await w.all();
    expect(second).toMatchObject({ state: 'refused', reasons: [{ code: 'intent-stale' }] });
    expect(w.cloud.arrived).toBe(1);
  });

  it('of what the new machine is without is told with its proof', async () => {
    const lacks = ["its volumes are the template's: EC2 did not answer"];
    w.cloud.lacks = lacks;
    w.script.wants = [{ action: 'Replace', target: 'i-1' }];
    w.cloud.faults.push('half');
    await w.look();
    expect(codesOf((await w.all())[0]!)).toEqual(['half-done']);
    await w.pass(MINUTE_MS);
    const [action] = await w.all();
    expect(action?.state).toBe('confirmed');
    expect(action?.reasons).toContainEqual({ code: 'lacking', message: lacks[0] });
  });

  it('for want of capacity is waited for, and says so until the cloud has taken it', async () => {
    w.cloud.faults.push('full', 'not-sent', 'full');
    await w.look();
    const last = async () => (await w.all()).at(-1)!;
    expect(waitOf(await last())).toBe('no-capacity');
    // Another failure in between, and another reading, do not end the wait.
    await w.pass(5000);
    expect([codesOf(await last()), waitOf(await last())]).toEqual([['no-capacity', 'not-sent'], 'no-capacity']);
    await w.pass(MINUTE_MS);
    expect(codesOf(await last())).toEqual(['no-capacity']);
    await w.pass(5 * MINUTE_MS);
    const { id } = await last();
    expect(await last()).toMatchObject({ state: 'confirmed', reasons: [] });
    expect((await w.codes(id)).filter((code) => code.includes('capacity'))).toEqual([
      'no-capacity',
      'no-capacity',
      'capacity-found',
    ]);
    // What ends without it says what it waited for.
    w.cloud.change('instance/i-1', { state: 'running', billing: 'billed' });
    w.cloud.faults.push(...Array.from({ length: 20 }, () => 'full' as const));
    await w.look(2 * HOUR_MS);
    await w.pass(11 * MINUTE_MS);
    expect(await last()).toMatchObject({
      state: 'refused',
      reasons: [{ code: 'intent-stale', message: 'it was tried for 10 minutes: the cloud has no capacity now' }],
    });
    w.cloud.faults.length = 0;
    // Nothing was done: it need not rest for half an hour.
    await w.look(2 * MINUTE_MS);
    expect(await last()).toMatchObject({ state: 'confirmed' });
    expect((await last()).id).not.toBe(id);
  });

  it('because the provider refused changes nothing, and counts for no cap of an hour', async () => {
    await w.limits({ actionsPerHour: 1, gpusPerHour: 8 });
    w.cloud.faults.push('refused');
    await w.look();
    expect(await only()).toMatchObject({ state: 'refused', reasons: [{ code: 'Quota', message: 'no quota is left' }] });
    // The same is not asked for again at once.
    await w.look(MINUTE_MS);
    expect(await w.all()).toHaveLength(1);
    await w.look(30 * MINUTE_MS);
    expect((await w.all()).map(({ state }) => state)).toEqual(['refused', 'confirmed']);
    await w.limits({});
  });
});

describe('a process that dies after every other commit', async () => {
  const w = await actingWorld();

  it('leaves nothing undone and does nothing twice', async () => {
    let dies = false;
    // What the stage committed by itself stays; what the runner would commit after it is lost.
    const dying = <T>(done: T): T => {
      dies = !dies;
      if (dies) throw unavailable('the process died');
      return done;
    };
    const mortal = w.line.map((stage): Stage => {
      if (!stage.name.startsWith('action.')) return stage;
      return stage.apart === undefined
        ? { ...stage, run: async (call) => dying(await stage.run(call)) }
        : { ...stage, apart: async (call) => dying(await stage.apart(call)) };
    });
    const runner = new Runner(w.db, w.stores.work, w.clock, mortal);
    w.cloud.add(instance('i-1'), group('web', 5));
    w.cloud.faults.push('crash-after');
    w.script.wants = [
      { action: 'Stop', target: 'i-1' },
      { action: 'ScaleIn', target: 'web', change: { replicas: 4 } },
    ];
    await w.document('enforce');
    await enqueue(w.db, 'default', [{ stage: 'recommendation.make', partition: 'lab', key: 'lab' }]);
    for (let n = 0; n < 30; n++) {
      await runner.drain();
      w.clock.at += 5000;
    }
    const all = await w.all();
    expect(all.map(({ state }) => state)).toEqual(['confirmed', 'confirmed']);
    expect(w.cloud.arrived).toBe(2);
    for (const { id } of all)
      expect((await w.codes(id)).filter((code) => code !== 'outcome-unknown')).toEqual([
        'proposed',
        'approved',
        'intended',
        'asked',
        'applied',
        'confirmed',
      ]);
  });
});

describe('a purchase', async () => {
  const w = await actingWorld();
  const target = 'AWS/us-east-1/p5.48xlarge/reserved-1y/none';
  const buy = async (): Promise<Action> => {
    w.script.wants = [
      {
        action: 'PurchaseReservedInstances',
        target,
        place: { provider: 'AWS', region: 'us-east-1', sku: 'p5.48xlarge' },
        change: { units: 8, term: 'reserved-1y', upfront: 'none', termHours: 8760, perGpuHourNanos: 2_000_000_000 },
      },
    ];
    await w.look(2 * HOUR_MS);
    return (await w.all()).at(-1)!;
  };

  const shown = async (id: string): Promise<string> => {
    const out: string[] = [];
    await run(['actions', 'show', id], {
      environment: {},
      clock: w.clock,
      remote: null,
      stdout: { write: (text) => out.push(text) },
      stderr: { write: (text) => out.push(text) },
      serve: async () => undefined,
      connect: async () => localOfComposed({ ...w, policies: [w.policy] }, w.clock),
    });
    return out.join('');
  };

  it('of a policy that enforces waits for a person where there is no limit', async () => {
    // One instance of eight GPUs: 16 dollars an hour, 140,160 for the year.
    w.cloud.onSale = [
      {
        offer: 'o-1',
        kind: 'reserved-instance',
        sku: 'p5.48xlarge',
        region: 'us-east-1',
        termHours: 8760,
        upfront: 'none',
        upfrontNanos: 0n,
        hourlyNanos: 16_000_000_000n,
        currency: 'USD',
        connection: 'cloud',
        provider: 'AWS',
        gpusPerUnit: 8,
      },
    ];
    await w.document('enforce');
    expect(await buy()).toMatchObject({
      state: 'proposed',
      effect: { kind: 'purchase', offer: 'o-1', units: 1, mostNanos: 140_160_000_000_000n },
    });
    // Of purchases an author is no approver, although nobody has asked for it.
    const { id } = (await w.all()).at(-1)!;
    await expect(w.approve(id, 'author')).rejects.toMatchObject({ kind: 'denied' });
  });

  it('is bought once where the month has room, confirmed by the provider, and not again beyond it', async () => {
    await w.limits({ purchasesPerMonth: { amount: '200000', currency: 'USD' } });
    const bought = await buy();
    expect(bought).toMatchObject({ state: 'confirmed', approvedBy: 'policy:doc', after: null });
    // No target shows it: what its provider says of it is the proof.
    expect(bought.reasons).toEqual([{ code: 'bought', message: 'taken before' }]);
    expect(await shown(bought.id)).toMatch(/^Proof, read at \S+: taken before$/m);
    expect(await buy()).toMatchObject({
      state: 'refused',
      reasons: [{ code: 'purchase-limit' }, { code: 'purchase-limit' }],
    });
    expect(w.cloud.done).toHaveLength(1);
  });

  it('that did not arrive is not sent again by itself', async () => {
    await w.limits({ purchasesPerMonth: { amount: '900000', currency: 'USD' } });
    w.cloud.faults.push('not-sent');
    expect(await buy()).toMatchObject({ state: 'intended' });
    await w.pass(2 * MINUTE_MS);
    expect((await w.all()).at(-1)).toMatchObject({ state: 'failed', reasons: [{ code: 'purchase-absent' }] });
    expect(w.cloud.arrived).toBe(1);
  });
});

describe('several at once', async () => {
  const w = await actingWorld();

  it('two runners act once', async () => {
    await w.document('enforce');
    w.cloud.add(...Array.from({ length: 6 }, (_, n) => instance(`i-${n}`, { gpus: 1 })));
    w.script.wants = Array.from({ length: 6 }, (_, n) => ({ action: 'Stop' as const, target: `i-${n}` }));
    await enqueue(w.db, 'default', [{ stage: 'recommendation.make', partition: 'lab', key: 'lab' }]);
    await Promise.all(Array.from({ length: 3 }, () => new Runner(w.db, w.stores.work, w.clock, w.line).drain()));
    expect((await w.all()).map(({ state }) => state)).toEqual(Array(6).fill('confirmed'));
    expect(w.cloud.arrived).toBe(6);
  });

  it('the caps of an hour hold, whoever is first', async () => {
    await w.limits({ gpusPerHour: 24 });
    await w.document('approve');
    const names = ['big-0', 'big-1', 'big-2', 'big-3'];
    w.cloud.add(...names.map((name) => instance(name)));
    w.script.wants = names.map((target) => ({ action: 'Stop' as const, target }));
    await w.look(2 * HOUR_MS);
    const ids = (await w.all()).slice(-4).map(({ id }) => id);
    for (const id of ids) await w.approve(id);
    // All four have read their target before any of them asks the guard.
    w.cloud.beforeRead = meeting(4);
    await Promise.all(ids.map((id) => step(w, id)));
    w.cloud.beforeRead = null;
    const big = (await w.all()).slice(-4);
    expect(big.map(({ state }) => state).sort()).toEqual(['approved', 'intended', 'intended', 'intended']);
    expect(big.filter(({ state }) => state === 'approved').map(codesOf)).toEqual([['gpus-per-hour', 'gpus-per-hour']]);
    await w.pass(0);
    await w.pass(61 * MINUTE_MS);
    expect((await w.all()).slice(-4).map(({ state }) => state)).toEqual(Array(4).fill('confirmed'));
    await w.limits({});
  });

  it('two live actions on one target are impossible, also to who writes the table', async () => {
    const [action] = await w.all();
    const insert = (id: string): Promise<unknown> =>
      w.db.query(
        `insert into action (organisation, id, team, connection, target, effect, state, state_at, mode, proposed_by, proposed_at, expires_at)
       select organisation, $2, team, connection, target, effect, 'approved', state_at, mode, proposed_by, proposed_at, expires_at from action where id = $1`,
        [action!.id, id],
      );
    await insert('one');
    await expect(insert('two')).rejects.toThrow('action_live');
    await w.db.query(`delete from action where id = 'one'`);
  });
});

describe('decisions of people', async () => {
  const w = await actingWorld();
  const propose = async (target: string, validDays = 1): Promise<Action> => {
    w.cloud.add(instance(target));
    w.script.wants = [{ action: 'Stop', target, validDays }];
    await w.look(2 * HOUR_MS);
    return (await w.all()).at(-1)!;
  };

  it('that do not come let a proposal expire, by itself', async () => {
    await w.document('approve');
    const { id } = await propose('i-1');
    await w.pass(23 * HOUR_MS);
    expect((await w.all()).at(-1)).toMatchObject({ id, state: 'proposed' });
    await w.pass(HOUR_MS);
    expect((await w.all()).at(-1)).toMatchObject({ id, state: 'expired' });
    await expect(w.approve(id)).rejects.toThrow('is expired, not proposed');
  });

  it('that reject hold until the situation has passed and comes again', async () => {
    const { id } = await propose('i-2');
    await w.db.transaction((tx) => rejectAction(w.stores, tx, 'default', id, 'not this one', 'boss', w.clock.at));
    expect((await w.all()).at(-1)).toMatchObject({
      state: 'refused',
      reasons: [{ code: 'rejected', message: 'not this one' }],
    });
    await w.look(5 * HOUR_MS);
    expect((await w.all()).at(-1)).toMatchObject({ id });
    w.script.wants = [];
    await w.look(MINUTE_MS);
    expect(await propose('i-2')).toMatchObject({ state: 'proposed' });
  });

  it('may not be those of whoever wrote the document, where the team says so', async () => {
    await w.limits({ separateApprover: true }, 'lab');
    const { id } = await propose('i-3');
    await expect(w.approve(id, 'author')).rejects.toMatchObject({ kind: 'denied' });
    // Another name is nobody else, and who pauses a document has not written it.
    await w.db.query(`update policy set updated_by = 'user:42 (Ann)'`);
    for (const { document } of await w.all())
      for (const paused of [true, false])
        await w.db.transaction((tx) =>
          w.stores.policies
            .setPaused(tx, 'default', document ?? '', paused, 'user:7 (Bob)', w.clock.at)
            .catch(() => null),
        );
    await expect(w.approve(id, 'user:42 (Anna)')).rejects.toMatchObject({ kind: 'denied' });
    // Nor does another's smaller change make somebody else of who wrote the rest.
    const { document = null } = (await w.all()).find((one) => one.id === id) ?? {};
    const held = await w.stores.policies.known(w.db, 'default', document ?? '');
    const { name, policy, teams, mode, params } = held;
    const changed = { name, policy, teams, mode, params, priority: held.priority + 1 };
    await w.db.transaction((tx) => w.stores.policies.save(tx, 'default', changed, 'user:9 (Eve)', w.clock.at));
    for (const one of ['author', 'user:9 (Eve)'])
      await expect(w.approve(id, one)).rejects.toMatchObject({ kind: 'denied' });
    // A key of somebody's is that somebody.
    const own = await w.db.transaction((tx) =>
      w.stores.keys.create(tx, 'default', { name: 'own', role: 'admin', teams: null, owner: 'user:9' }, w.clock.at),
    );
    await expect(w.approve(id, `key:${own.id} (own)`)).rejects.toMatchObject({ kind: 'denied' });
    // However the owner is written: by the subject, by an address of the directory, or both as a name that nobody knows.
    const keyOf = async (owner: string): Promise<string> => {
      const settings = { name: owner, role: 'admin', teams: null, owner };
      return `key:${(await w.db.transaction((tx) => w.stores.keys.create(tx, 'default', settings, w.clock.at))).id}`;
    };
    await w.db.query(
      `insert into scim_user (organisation, id, user_name, external_id, active, subjects, attributes, created_at, updated_at)
       values ('default', 'u-9', 'eve', null, true, '{9}', '{"emails": [{"value": "Eve@example.com"}]}', now(), now())`,
    );
    for (const owner of ['9', 'EVE', 'eve@example.com', 'user:eve'])
      await expect(w.approve(id, `${await keyOf(owner)} (${owner})`), owner).rejects.toMatchObject({ kind: 'denied' });
    const [first, second] = [await keyOf('Night desk'), await keyOf('night desk ')];
    await w.db.transaction((tx) =>
      w.stores.policies.save(tx, 'default', { ...changed, priority: held.priority + 2 }, first, w.clock.at),
    );
    await expect(w.approve(id, second)).rejects.toMatchObject({ kind: 'denied' });
    expect(await w.approve(id, 'user:7 (Bob)')).toMatchObject({ state: 'approved' });
    await w.pass(0);
  });

  it('come too late once the provider was asked', async () => {
    const { id, state } = (await w.all()).at(-1)!;
    expect(state).toBe('confirmed');
    await expect(
      w.db.transaction((tx) => rejectAction(w.stores, tx, 'default', id, '', 'boss', w.clock.at)),
    ).rejects.toThrow(/was asked for it; bursar rollback/);
  });
});
