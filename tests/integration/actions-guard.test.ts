/**
 * What keeps acting safe, on a real database and a cloud in memory: the guard, the kill switch, rollbacks, and brakes
 * that are lifted.
 */
import { stopsOverApprovals } from '../../src/application/action/carry-out.js';
import { approveRecommendation } from '../../src/application/action/set-action.js';
import { describe, expect, it } from 'vitest';
import { knownBy } from '../../src/application/policy/known-by.js';
import type { Action } from '../../src/core/action/action.js';
import type { FleetTarget } from '../../src/core/fleet/fleet.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { approveAction, rejectAction } from '../../src/application/action/set-action.js';
import { outcomeOf } from '../../src/core/alert/alert.js';
import { actingWorld, codesOf, step } from '../support/acting.js';
import { group, instance } from '../support/memory-cloud.js';
import { workloadFacts } from '../support/makers.js';

describe('the guard', async () => {
  const w = await actingWorld();
  const enforced = async (target: string): Promise<Action> => {
    w.script.wants = [{ action: 'Stop', target }];
    await w.look(2 * HOUR_MS);
    return (await w.all()).at(-1)!;
  };
  /** What stands against a stop, which nobody is asked to approve. */
  const obstructed = async (target: string): Promise<string[]> => {
    w.script.wants = [{ action: 'Stop', target }];
    await w.look(2 * HOUR_MS);
    const made = await w.stores.recommendations.list('default', {}, null, 100);
    const found = made.find((one) => one.target === target)!;
    expect([found.obstacle, found.actionId]).toEqual([found.obstacles[0], null]);
    expect((await w.all()).some((one) => one.target === `instance/${target}`)).toBe(false);
    return found.obstacles.map(({ code }) => code);
  };

  it('names every reason', async () => {
    await w.document('approve');
    w.cloud.add(instance('i-1'));
    w.script.evidenceAgeMs = DAY_MS;
    w.script.wants = [{ action: 'Stop', target: 'i-1' }];
    await w.look(2 * HOUR_MS);
    // What stands against it came after it was proposed.
    w.cloud.add(instance('i-1', { gpus: 64, labels: { 'bursar.io/protected': 'true' } }));
    await w.approve((await w.all()).at(-1)!.id);
    await w.pass(MINUTE_MS);
    const action = (await w.all()).at(-1)!;
    expect(action.state).toBe('refused');
    expect(codesOf(action)).toEqual(['evidence-stale', 'protected-label', 'gpus-per-action']);
    w.script.evidenceAgeMs = 0;
    await w.document('enforce');
  });

  it.each(['observe', 'recommend', 'approve', 'enforce'] as const)(
    'is told with the recommendation what it would refuse, in mode %s, and nobody is asked',
    async (mode) => {
      await w.document(mode);
      const target = `i-kept-${mode}`;
      w.cloud.add(instance(target, { gpus: 64, labels: { 'bursar.io/protected': 'true' } }));
      expect(await obstructed(target)).toEqual(['protected-label', 'gpus-per-action']);
      w.cloud.carriesOut = ['start'];
      expect(await obstructed(target)).toEqual(['missing-effect', 'protected-label', 'gpus-per-action']);
      w.cloud.carriesOut = [];
      expect(await obstructed(target)).toEqual(['cannot-act', 'protected-label', 'gpus-per-action']);
      w.cloud.carriesOut = null;
      await w.document('enforce');
    },
  );

  it('keeps the GPUs that a team keeps, with what was just taken counted', async () => {
    const both = [instance('t-1'), instance('t-2')];
    w.cloud.add(...both);
    const reading = { at: w.clock.now(), targets: both, complete: true, problems: [] };
    await w.stores.fleet.save(w.db, 'default', 'cloud', reading, () => 'lab');
    await w.limits({ minTeamGpus: 9 });
    expect(await obstructed('t-1')).toEqual(['floor']);
    await w.limits({ minTeamGpus: 8 });
    expect((await enforced('t-1')).state).toBe('confirmed');
    const second = await enforced('t-2');
    expect([second.state, codesOf(second)]).toEqual(['approved', ['team-floor']]);
    await w.limits({});
    await w.pass(5 * MINUTE_MS);
    expect((await w.all()).at(-1)!.state).toBe('confirmed');
  });

  it('is not told as somebody else who has ended a machine', async () => {
    const read = (name: string, over: Partial<FleetTarget>, minutes: number): Promise<unknown> => {
      const at = w.clock.now() + minutes * MINUTE_MS;
      const targets = [instance(name, over)];
      return w.stores.fleet.save(w.db, 'default', 'cloud', { at, targets, complete: false, problems: [] }, () => 'lab');
    };
    const told = async (name: string, minutes: number): Promise<string> => {
      await read(name, {}, minutes);
      await read(name, { state: 'gone', ended: { by: 'somebody', because: 'StateReason Client.User' } }, minutes + 1);
      const { known } = await knownBy(w.stores, w.db, 'default', `instance/${name}`, w.clock.now() + 9 * MINUTE_MS);
      return known.join();
    };
    w.cloud.add(instance('e-1'));
    w.script.wants = [{ action: 'Release', target: 'e-1' }];
    await w.look(2 * HOUR_MS);
    const ended = (await w.all()).at(-1)!;
    expect([ended.effect.kind, ended.state]).toEqual(['terminate', 'confirmed']);
    expect(await told('e-1', 1)).toContain(`Bursar ended it (terminate of ${ended.id})`);
    expect(await told('e-2', 5)).toContain('somebody ended it, and Bursar does not replace what somebody ended');
  });

  it('refuses what nobody has backtested, unless an audited reason says why', async () => {
    w.cloud.add(instance('i-2'));
    // As the tables' owner: nobody else may, and the chain of hashes shows it.
    await w.db.query(`alter table audit disable trigger audit_kept`);
    await w.db.query(`delete from audit`);
    await w.db.query(`alter table audit enable trigger audit_kept`);
    expect(codesOf(await enforced('i-2'))).toEqual(['no-backtest']);
    await w.db.transaction((tx) =>
      w.stores.audit.audit(tx, 'default', 'boss', 'policy.apply', 'doc', {
        override: 'it is known',
        after: { policy: 'scripted', params: {}, teams: ['lab'] },
      }),
    );
    expect((await enforced('i-2')).state).toBe('confirmed');
  });

  it('tells with a recommendation what else would happen, and does not ask about what would be refused', async () => {
    await w.document('approve');
    const settings = { protectedMembers: 0, suspended: [], policies: [] };
    w.cloud.add(
      group('hooked', 4, { group: { ...settings, hooks: [{ name: 'drain-queue', seconds: 900 }] } }),
      group('kept', 4, { group: { ...settings, protectedMembers: 4, hooks: [] } }),
    );
    w.script.wants = ['hooked', 'kept'].map((target) => ({ action: 'ScaleIn', target, change: { replicas: 3 } }));
    await w.look(2 * HOUR_MS);
    const made = (await w.stores.recommendations.list('default', {}, null, 10)).filter(({ target }) =>
      ['hooked', 'kept'].includes(target),
    );
    const told = new Map(made.map((one) => [one.target, one]));
    expect(told.get('hooked')?.risk.note).toContain('drain-queue holds each machine that ends');
    expect(told.get('hooked')?.obstacle ?? null).toBeNull();
    expect(told.get('kept')?.obstacle).toMatchObject({ code: 'scale-in-protection' });
    const open = (await w.all()).filter(({ state }) => state === 'proposed').map(({ target }) => target);
    expect(open).toContain('asg/hooked');
    expect(open).not.toContain('asg/kept');
    w.script.wants = [];
    await w.look(HOUR_MS);
    await w.document('enforce');
  });

  it('leaves to a scaling group what one of its machines becomes, and sends nothing', async () => {
    await w.document('approve');
    w.cloud.add(instance('i-9'));
    w.script.wants = [{ action: 'Stop', target: 'i-9' }];
    await w.look(2 * HOUR_MS);
    const { id } = (await w.all()).at(-1)!;
    w.cloud.add(instance('i-9', { labels: { 'aws:autoscaling:groupName': 'web' } }));
    const { arrived } = w.cloud;
    await w.approve(id);
    await w.pass(MINUTE_MS);
    const action = (await w.all()).at(-1)!;
    expect([action.id, action.state, codesOf(action)]).toEqual([id, 'refused', ['group-member']]);
    expect(w.cloud.arrived).toBe(arrived);
    await w.document('enforce');
  });

  it.each(['before it is approved', 'while it is approved', 'after it was done, to take it back'])(
    'does nothing to a machine that is given to another team %s',
    async (when) => {
      await w.document('approve');
      const name = `moved ${when}`;
      const toOther = (): void => w.cloud.change(`instance/${name}`, { labels: { team: 'other' } });
      w.cloud.add(instance(name));
      w.script.wants = [{ action: 'Stop', target: name }];
      await w.look(2 * HOUR_MS);
      const { id } = (await w.all()).at(-1)!;
      if (when.startsWith('before')) toOther();
      await w.approve(id);
      if (when.startsWith('while')) toOther();
      if (when.startsWith('after')) {
        await w.pass(MINUTE_MS);
        toOther();
        await w.rollBack(id);
      }
      const { arrived } = w.cloud;
      await w.pass(MINUTE_MS);
      const action = (await w.all()).at(-1)!;
      expect([action.state, action.reasons]).toEqual([
        'refused',
        [{ code: 'other-team', message: `instance/${name} now belongs to other, not to lab` }],
      ]);
      expect(w.cloud.arrived).toBe(arrived);
      w.script.wants = [];
      await w.document('enforce');
    },
  );

  describe('a replacement of which half was done', () => {
    const half = { code: 'half-done', message: 'i-new runs, and the old one does not end' };
    const begun = async (name: string, fault: 'half' | 'half-lost', document = 'enforce' as const): Promise<Action> => {
      await w.document(document);
      w.cloud.add(instance(name));
      w.cloud.faults.push(fault);
      w.script.wants = [{ action: 'Replace', target: name }];
      await w.look(2 * HOUR_MS);
      if (fault === 'half-lost') await w.pass(5000);
      w.script.wants = [];
      return (await w.all()).at(-1)!;
    };

    it.each(['half', 'half-lost'] as const)('is told at once (%s), then ended after another look', async (fault) => {
      const { id, state, reasons } = await begun(`i-${fault}`, fault);
      expect([state, reasons]).toEqual(['intended', [half]]);
      await w.pass(MINUTE_MS);
      expect((await w.all()).at(-1)).toMatchObject({ id, state: 'confirmed' });
      const codes = await w.codes(id);
      expect(codes.slice(codes.indexOf('half-done'))).toEqual([
        'half-done',
        'read-again',
        'asked',
        'applied',
        'confirmed',
      ]);
      expect(w.cloud.done.filter(({ token }) => token === `bursar-${id}`)).toHaveLength(1);
    });

    it.each(['protected', 'moved', 'gone', 'stopped', 'rejected'])(
      'ends with that, and names both machines, where the rest is forbidden by then: %s',
      async (why) => {
        const { id, target } = await begun(`i-${why}`, 'half-lost');
        const { arrived } = w.cloud;
        if (why === 'protected') w.cloud.change(target, { labels: { 'bursar.io/protected': 'true' } });
        if (why === 'moved') w.cloud.change(target, { labels: { team: 'other' } });
        if (why === 'gone') w.cloud.targets.delete(target);
        if (why === 'stopped') await w.stop('all');
        if (why === 'rejected')
          await w.db.transaction((tx) => rejectAction(w.stores, tx, 'default', id, '', 'boss', w.clock.at));
        await w.pass(MINUTE_MS);
        const action = (await w.all()).find((one) => one.id === id)!;
        expect([action.state, action.reasons[0], action.reasons.length]).toEqual([
          'failed',
          half,
          why === 'gone' ? 3 : 2,
        ]);
        expect(w.cloud.arrived).toBe(arrived);
        const last = (await w.stores.actions.events(w.db, 'default', id)).at(-1)!;
        expect(outcomeOf(last)).toBe('failed');
        if (why === 'stopped') await w.lift('all');
      },
    );
  });

  it('does again what its own document has undone, without the half hour of what is only proposed on', async () => {
    await w.document('enforce');
    await w.limits({ cooldownMinutes: 0 });
    w.cloud.add(instance('i-cal'));
    const ask = async (action: 'Stop' | 'Start'): Promise<string[]> => {
      w.script.wants = [{ action, target: 'i-cal', ...(action === 'Start' ? { change: { replicas: 1 } } : {}) }];
      await w.look(MINUTE_MS);
      return (await w.all()).flatMap((one) =>
        one.target === 'instance/i-cal' ? [`${one.effect.kind} ${one.state}`] : [],
      );
    };
    await w.pass(2 * HOUR_MS);
    expect(await ask('Stop')).toEqual(['stop confirmed']);
    // Proposed on, what is stopped rests.
    expect(await ask('Stop')).toEqual(['stop confirmed']);
    expect(await ask('Start')).toEqual(['stop confirmed', 'start confirmed']);
    expect(await ask('Stop')).toEqual(['stop confirmed', 'start confirmed', 'stop confirmed']);
    // Somebody else has started it: that is not the document's to undo at once.
    w.cloud.change('instance/i-cal', { state: 'running', billing: 'billed' });
    expect(await ask('Stop')).toHaveLength(3);
    w.script.wants = [];
    await w.limits({});
  });

  it('acts on no reading that is older than the limit allows, however long a provider or a lock took', async () => {
    w.cloud.add(instance('i-10'));
    w.cloud.beforeRead = async () => {
      w.clock.at += 5 * MINUTE_MS;
      w.cloud.beforeRead = null;
    };
    const action = await enforced('i-10');
    expect([action.state, codesOf(action)]).toEqual(['approved', ['reading-stale']]);
    await w.pass(MINUTE_MS);
    expect((await w.all()).at(-1)).toMatchObject({ id: action.id, state: 'confirmed' });
  });

  it('reads again what was delayed before it was sent, and sends nothing that would now be refused', async () => {
    w.cloud.add(instance('i-11'), instance('i-12'));
    await w.document('approve');
    w.script.wants = ['i-11', 'i-12'].map((target) => ({ action: 'Stop', target }));
    await w.look(2 * HOUR_MS);
    const ids = (await w.all()).slice(-2).map(({ id }) => id);
    const { arrived } = w.cloud;
    for (const id of ids) {
      await w.db.transaction((tx) => approveAction(w.stores, tx, 'default', id, 'boss', w.clock.at));
      await step(w, id);
    }
    expect((await w.all()).slice(-2).map(({ state }) => state)).toEqual(['intended', 'intended']);
    // A minute and a half in the queue, in which one of the two became a machine of a group.
    w.cloud.add(instance('i-12', { labels: { 'aws:autoscaling:groupName': 'web' } }));
    await w.pass(1.5 * MINUTE_MS);
    const [first, second] = (await w.all()).slice(-2);
    expect(first).toMatchObject({ state: 'confirmed', beforeAt: w.clock.at });
    expect(await w.codes(ids[0]!)).toContain('read-again');
    expect([second?.state, codesOf(second!)]).toEqual(['refused', ['group-member']]);
    expect(w.cloud.arrived).toBe(arrived + 1);
    await w.document('enforce');
  });

  it('leaves alone what its owner protects', async () => {
    w.cloud.add(instance('i-3'));
    const facts = workloadFacts({
      workload: 'i-3',
      provider: null,
      region: null,
      sku: null,
      gpuModel: null,
      term: null,
      gpusPerReplica: null,
      isProtected: true,
      fleet: null,
    });
    await w.db.transaction((tx) => w.stores.workloads.save(tx, 'default', 'lab', facts, w.clock.at));
    expect(await obstructed('i-3')).toEqual(['protected']);
    // Nor may a person approve it, to do it by hand.
    const [found] = await w.db.query<{ id: string }>(
      `select id from recommendation where target like '%i-3' and status = 'open'`,
    );
    await expect(
      w.db.transaction((tx) => approveRecommendation(w.stores, tx, 'default', found?.id ?? '', 'boss', w.clock.at)),
    ).rejects.toMatchObject({ kind: 'conflict', message: expect.stringContaining('forbids changes to it') });
  });

  it('waits through quiet hours, and acts after them', async () => {
    w.cloud.add(instance('i-4'));
    const hour = new Date(w.clock.at + 2 * HOUR_MS).getUTCHours();
    const text = (at: number): string => `${String(at % 24).padStart(2, '0')}:00`;
    await w.limits({ quietHours: [{ zone: 'UTC', from: text(hour), to: text(hour + 1) }] });
    const action = await enforced('i-4');
    expect(action).toMatchObject({ state: 'approved', reasons: [{ code: 'quiet-hours' }] });
    await w.pass(30 * MINUTE_MS);
    expect((await w.codes(action.id)).filter((code) => code === 'waiting')).toHaveLength(1);
    await w.pass(30 * MINUTE_MS);
    expect((await w.all()).at(-1)).toMatchObject({ id: action.id, state: 'confirmed' });
    await w.limits({});
  });

  it('holds what a person approved to the newest evidence, as long as it is proposed', async () => {
    w.cloud.add(instance('i-7'), instance('i-8'));
    await w.document('approve');
    await w.limits({ quietHours: [{ zone: 'UTC' }] });
    w.script.wants = [
      { action: 'Stop', target: 'i-7' },
      { action: 'Stop', target: 'i-8' },
    ];
    await w.look(2 * HOUR_MS);
    const ids = (await w.all()).slice(-2).map(({ id }) => id);
    for (const id of ids) await w.approve(id);
    w.script.wants = [{ action: 'Stop', target: 'i-7' }];
    await w.look(3 * HOUR_MS);
    // The one is still proposed; what the other was approved for was last seen three hours ago.
    expect(
      (await w.all()).slice(-2).map(({ target, state, reasons }) => [target, state, reasons.map(({ code }) => code)]),
    ).toEqual([
      ['instance/i-7', 'approved', ['quiet-hours']],
      ['instance/i-8', 'refused', ['evidence-stale', 'quiet-hours']],
    ]);
    await w.limits({});
    await w.pass(MINUTE_MS);
    expect((await w.all()).at(-2)).toMatchObject({ state: 'confirmed', approvedBy: 'boss' });
    await w.document('enforce');
  });

  it('waits for the cooldown of a target, which no second action shortens', async () => {
    w.cloud.add(group('web', 10));
    w.script.wants = [{ action: 'ScaleIn', target: 'web', change: { replicas: 9 } }];
    await w.look(2 * HOUR_MS);
    const first = (await w.all()).at(-1)!;
    expect(first.state).toBe('confirmed');
    w.script.wants = [{ action: 'ScaleOut', target: 'web', change: { replicas: 12 } }];
    await w.look(5 * MINUTE_MS);
    expect((await w.all()).at(-1)).toMatchObject({ state: 'approved', reasons: [{ code: 'cooldown' }] });
    await w.pass(25 * MINUTE_MS);
    expect((await w.all()).at(-1)).toMatchObject({ state: 'confirmed', effect: { replicas: 12 } });
  });

  it('keeps a target that is under its smallest size, and one whose state is not known', async () => {
    w.cloud.add(
      group('small', 3, { replicas: { desired: 3, ready: 3, min: 2, max: 5 } }),
      instance('i-5', { state: 'unknown' }),
    );
    w.script.wants = [{ action: 'ScaleIn', target: 'small', change: { replicas: 1 } }];
    await w.look(2 * HOUR_MS);
    const kept = (await w.stores.recommendations.list('default', {}, null, 100)).find((one) => one.target === 'small');
    expect(kept).toMatchObject({ actionId: null, obstacles: [{ code: 'floor' }] });
    expect(await enforced('i-5')).toMatchObject({ state: 'approved', reasons: [{ code: 'target-unknown' }] });
    w.script.wants = [];
    await w.look(MINUTE_MS);
    expect((await w.all()).at(-1)).toMatchObject({ state: 'refused', reasons: [{ code: 'superseded' }] });
  });

  it('refuses without credentials for acting', async () => {
    w.cloud.add(instance('i-6'));
    w.cloud.canAct = false;
    expect(codesOf(await enforced('i-6'))).toEqual(['cannot-act']);
    w.cloud.canAct = true;
  });
});

describe('the kill switch', async () => {
  const w = await actingWorld();

  it('set between the intent and the asking stops it', async () => {
    w.cloud.add(instance('i-1'));
    w.script.wants = [{ action: 'Stop', target: 'i-1' }];
    await w.document('approve');
    await w.look();
    const [{ id }] = (await w.all()) as [Action];
    await w.approve(id);
    // One step only: intended, and nothing was asked.
    await step(w, id);
    expect(await w.all()).toMatchObject([{ state: 'intended', askedAt: null }]);
    await w.stop('team', 'lab');
    await w.pass(0);
    expect(await w.all()).toMatchObject([{ state: 'refused', reasons: [{ code: 'stopped' }], askedAt: null }]);
    expect(w.cloud.arrived).toBe(0);
  });

  it.each(['approved', 'intended'] as const)(
    'refuses at once what is %s, and lifting it brings nothing back, though no worker looked in between',
    async (state) => {
      await w.lift('team', 'lab');
      await w.look(HOUR_MS);
      const { id } = (await w.all()).at(-1)!;
      await w.approve(id);
      if (state === 'intended') await step(w, id);
      expect((await w.all()).at(-1)).toMatchObject({ id, state, askedAt: null });
      await w.stop('provider', 'elsewhere');
      expect((await w.all()).at(-1)).toMatchObject({ id, state });
      await w.stop('team', 'lab');
      await w.lift('team', 'lab');
      await w.lift('provider', 'elsewhere');
      await w.pass(0);
      expect((await w.all()).at(-1)).toMatchObject({ id, state: 'refused', reasons: [{ code: 'stopped' }] });
      expect(w.cloud.arrived).toBe(0);
      await w.stop('team', 'lab');
    },
  );

  it('lets nobody approve, and no document enforce, in its scope', async () => {
    await w.look(HOUR_MS);
    const proposed = (await w.all()).at(-1)!;
    expect(proposed.state).toBe('proposed');
    await expect(w.approve(proposed.id)).rejects.toThrow('the kill switch is on');
    await w.lift('team', 'lab');
    await w.stop('provider', 'cloud');
    await expect(w.approve(proposed.id)).rejects.toMatchObject({
      kind: 'conflict',
      problems: [{ message: expect.stringMatching(/^for the provider cloud, since .* UTC, set by test$/) as string }],
    });
    await w.document('enforce');
    await w.look(MINUTE_MS);
    expect((await w.all()).at(-1)).toMatchObject({ id: proposed.id, state: 'proposed' });
    await w.lift('provider', 'cloud');
    await w.look(MINUTE_MS);
    expect((await w.all()).at(-1)).toMatchObject({ id: proposed.id, state: 'confirmed' });
  });

  it('is told beforehand of a recommendation whose approval would begin something, and of no other', async () => {
    w.cloud.add(instance('i-2'));
    w.script.wants = ['i-2', 'nobody-knows'].map((target) => ({ action: 'Stop', target }));
    await w.document('recommend');
    await w.look(HOUR_MS);
    const open = await w.stores.recommendations.list('default', { status: 'open' }, null, 100);
    const idOf = (target: string): string => open.find((one) => one.target === target)!.id;
    const stopped = async (): Promise<string[]> =>
      [...(await stopsOverApprovals(w.stores, w.db, 'default', open, w.clock.at))].flatMap(([id, stops]) =>
        stops.length > 0 ? [id] : [],
      );
    expect(await stopped()).toEqual([]);
    await w.stop('provider', 'cloud');
    expect(await stopped()).toEqual([idOf('i-2')]);
    const approve = (target: string) =>
      w.db.transaction((tx) => approveRecommendation(w.stores, tx, 'default', idOf(target), 'boss', w.clock.at));
    await expect(approve('i-2')).rejects.toThrow('the kill switch is on');
    expect(await approve('nobody-knows')).toMatchObject({ action: null, recommendation: { status: 'approved' } });
    await w.lift('provider', 'cloud');
  });

  it('of a team holds for the teams below it, and for no other', async () => {
    await w.db.transaction(async (tx) => {
      await w.stores.organisations.saveTeam(tx, 'default', {
        id: 'research',
        name: 'Research',
        parent: null,
        zone: 'UTC',
        currency: 'USD',
        assignedBy: null,
      });
      await w.stores.organisations.saveTeam(tx, 'default', {
        id: 'lab',
        name: 'Lab',
        parent: 'research',
        zone: 'UTC',
        currency: 'USD',
        assignedBy: null,
      });
    });
    await w.stop('team', 'research');
    expect(await w.stores.safety.stopsOver(w.db, 'default', 'lab', 'cloud')).toEqual([
      { scope: 'team', name: 'research', setAt: new Date(w.clock.at).toISOString(), setBy: 'test' },
    ]);
    expect(await w.stores.safety.stopsOver(w.db, 'default', 'other', 'cloud')).toEqual([]);
    await w.stop('provider', 'aws');
    expect(await w.stores.safety.stopsOver(w.db, 'default', 'other', 'aws:west')).toEqual([
      { scope: 'provider', name: 'aws', setAt: new Date(w.clock.at).toISOString(), setBy: 'test' },
    ]);
  });

  it('holds back a rollback too, unless it is asked for all the same', async () => {
    const { id } = (await w.all()).at(-1)!;
    await expect(w.rollBack(id)).rejects.toThrow('the kill switch is on');
    const rollback = await w.rollBack(id, true);
    await w.pass(0);
    expect((await w.all()).slice(-2).map((one) => [one.id, one.state])).toEqual([
      [id, 'rolled-back'],
      [rollback.id, 'confirmed'],
    ]);
    expect(w.cloud.targets.get('instance/i-1')?.state).toBe('running');
  });
});

describe('setting the kill switch', async () => {
  const w = await actingWorld();

  it('waits for nobody who is asking a provider', async () => {
    w.cloud.add(instance('i-busy'));
    w.script.wants = [{ action: 'Stop', target: 'i-busy' }];
    await w.document('approve');
    await w.look();
    const { id } = (await w.all()).find(({ target }) => target === 'instance/i-busy') as Action;
    await w.approve(id);
    let end = (): void => undefined;
    let asking: Promise<unknown> = Promise.resolve();
    await new Promise<void>((isHeld) => {
      asking = w.db.transaction(async (tx) => {
        // What a runner holds while it carries the action out.
        const held = [
          await tx.query(`select 1 from work where stage = 'action.execute' and key = $1 for update`, [id]),
          await tx.query(`select 1 from action where id = $1 for update`, [id]),
        ];
        const mayEnd = new Promise<void>((resolve) => (end = resolve));
        isHeld();
        await mayEnd;
        return held.map((rows) => rows.length);
      });
    });
    await w.stop('provider', 'another');
    end();
    expect(await asking).toEqual([1, 1]);
    await w.pass(0);
    expect((await w.all()).find((action) => action.id === id)?.state).toBe('confirmed');
  });
});

describe('a rollback', async () => {
  const w = await actingWorld();

  it('restores what was, under a guard of its own, and ends the action', async () => {
    await w.document('enforce');
    w.cloud.add(group('web', 6));
    w.script.wants = [{ action: 'ScaleIn', target: 'web', change: { replicas: 2 } }];
    await w.look();
    const [original] = (await w.all()) as [Action];
    expect(original.state).toBe('confirmed');
    // Neither cooldown nor quiet hours hold it back.
    await w.limits({ quietHours: [{ zone: 'UTC' }] });
    await w.rollBack(original.id);
    await expect(w.rollBack(original.id)).rejects.toThrow('is being rolled back');
    await w.pass(0);
    expect((await w.all()).map(({ state, effect }) => [state, effect])).toEqual([
      ['rolled-back', { kind: 'scale', target: 'asg/web', replicas: 2 }],
      ['confirmed', { kind: 'scale', target: 'asg/web', replicas: 6 }],
    ]);
    await expect(w.rollBack(original.id)).rejects.toThrow('is rolled-back: there is nothing to roll back');
    await w.limits({});
  });

  it('by a person stands until the situation has passed and comes again', async () => {
    const { length } = await w.all();
    await w.look(24 * HOUR_MS);
    expect(await w.all()).toHaveLength(length);
    const { wants } = w.script;
    w.script.wants = [];
    await w.look();
    w.script.wants = wants;
    await w.look();
    expect(await w.all()).toHaveLength(length + 1);
  });

  it('overwrites nothing that somebody has changed since', async () => {
    await w.look(2 * HOUR_MS);
    const original = (await w.all()).at(-1)!;
    expect(original.state).toBe('confirmed');
    w.cloud.change('asg/web', { replicas: { desired: 5, ready: 5, min: 0, max: 20 } });
    await w.rollBack(original.id);
    await w.pass(0);
    const [after, rollback] = (await w.all()).slice(-2) as [Action, Action];
    expect([rollback.state, codesOf(rollback)]).toEqual(['refused', ['changed-since']]);
    // The action is as it was, and its target is its own again.
    expect(after).toMatchObject({ id: original.id, state: 'confirmed', takenBackBy: null });
  });

  it('of an action that is not confirmed yet stands in its place', async () => {
    w.script.wants = [];
    w.cloud.add(instance('i-1'));
    w.cloud.endsBilling = false;
    w.script.wants = [{ action: 'Stop', target: 'i-1' }];
    await w.look(2 * HOUR_MS);
    const original = (await w.all()).at(-1)!;
    expect(original.state).toBe('applied');
    await w.rollBack(original.id);
    await w.pass(MINUTE_MS);
    expect((await w.all()).slice(-2).map(({ state }) => state)).toEqual(['rolled-back', 'confirmed']);
  });

  it('of a stop waits while the machine still stops, and starts it once it has stopped', async () => {
    w.cloud.add(instance('i-3'));
    w.script.wants = [{ action: 'Stop', target: 'i-3' }];
    await w.look(2 * HOUR_MS);
    const original = (await w.all()).at(-1)!;
    expect(original.state).toBe('applied');
    w.cloud.change('instance/i-3', { state: 'stopping' });
    await w.rollBack(original.id);
    await w.pass(0);
    const waiting = (await w.all()).at(-1)!;
    expect([waiting.state, codesOf(waiting)]).toEqual(['approved', ['between-states']]);
    w.cloud.change('instance/i-3', { state: 'stopped' });
    w.cloud.endsBilling = true;
    await w.pass(MINUTE_MS);
    expect((await w.all()).slice(-2).map(({ state }) => state)).toEqual(['rolled-back', 'confirmed']);
  });

  it('is refused for what nothing takes back', async () => {
    w.cloud.add(instance('i-2'));
    w.script.wants = [{ action: 'Release', target: 'i-2' }];
    await w.look(2 * HOUR_MS);
    const { id, state } = (await w.all()).at(-1)!;
    expect(state).toBe('confirmed');
    await expect(w.rollBack(id)).rejects.toThrow('terminate of instance/i-2 cannot be rolled back');
  });
});

describe('a brake', async () => {
  const w = await actingWorld({ holds: true });

  it('is taken back when its policy no longer proposes it, and not before', async () => {
    w.cloud.add(group('web', 6));
    w.script.wants = [{ action: 'ScaleIn', target: 'web', change: { replicas: 2 } }];
    await w.document('enforce');
    await w.look();
    await w.look(2 * HOUR_MS);
    expect((await w.all()).map(({ state }) => state)).toEqual(['confirmed']);
    w.script.wants = [];
    await w.look(MINUTE_MS);
    expect((await w.all()).map(({ state, proposedBy }) => [state, proposedBy])).toEqual([
      ['rolled-back', 'policy:doc'],
      ['confirmed', 'policy:doc'],
    ]);
    expect(w.cloud.targets.get('asg/web')?.replicas?.desired).toBe(6);
    await w.look(MINUTE_MS);
    expect(await w.all()).toHaveLength(2);
  });

  it('brakes the same again as soon as it is proposed again, unless a person took it back', async () => {
    await w.document('enforce');
    w.script.wants = [];
    w.cloud.add(instance('i-brake'));
    await w.limits({ cooldownMinutes: 0 });
    await w.look();
    const stop = [{ action: 'Stop' as const, target: 'i-brake' }];
    const ask = async (wants: typeof stop | []): Promise<string[]> => {
      w.script.wants = wants;
      await w.look(MINUTE_MS);
      return (await w.all()).flatMap((one) =>
        one.target === 'instance/i-brake' ? [`${one.effect.kind} ${one.state}`] : [],
      );
    };
    await w.pass(2 * HOUR_MS);
    expect(await ask(stop)).toEqual(['stop confirmed']);
    const lifted = ['stop rolled-back', 'start confirmed'];
    expect(await ask([])).toEqual(lifted);
    expect(await ask(stop)).toEqual([...lifted, 'stop confirmed']);
    await w.rollBack((await w.all()).at(-1)!.id);
    await w.pass(MINUTE_MS);
    expect(await ask(stop)).toEqual([...lifted, ...lifted]);
    await w.limits({});
  });
});
