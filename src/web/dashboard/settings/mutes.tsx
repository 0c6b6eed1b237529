/** The mutes, muting for a while, and lifting a mute. */
import type { JSX } from 'preact';
import { list, refusal, send } from '../api.js';
import { instantColumn } from '../columns.js';
import { NOTHING, useDraft } from '../drafts.js';
import { Fields, tidy } from '../form.js';
import { code } from '../format.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Listing, type Column } from '../table.js';
import { Act, Card, Form, Problems, Show } from '../ui.js';
import { schemaNamed } from './schemas.js';
import type { Mute } from '../answers.js';

type Values = Readonly<Record<string, unknown>>;

const columns = (lift: (one: Mute) => JSX.Element): readonly Column<Mute>[] => [
  { name: say('column.team'), text: ({ team }) => team ?? say('all') },
  { name: say('page.alerts'), text: ({ kind }) => (kind === null ? say('all') : code('alert', kind)) },
  { name: say('settings.up-to'), text: ({ upTo }) => (upTo === null ? say('all') : code('severity', upTo)) },
  instantColumn(say('settings.until'), ({ until }) => until),
  { name: say('field.reason'), text: ({ reason }) => reason },
  { name: say('column.by'), text: ({ by }) => by },
  { name: say('settings.change-it'), text: () => '', cell: lift },
];

export function Mutes(): JSX.Element {
  const loaded = useLoaded('settings mutes', async (halt) => ({
    ...(await list<Mute>('/v1/alert-mutes', {}, halt)),
    schema: await schemaNamed('MuteRequest'),
  }));
  const draft = useDraft<Values>('mute', NOTHING);
  const mute = useTask(async () => {
    await send('POST', '/v1/alert-mutes', tidy(draft.values));
    draft.drop();
    loaded.again();
  });
  const lift = useTask(async (id: string) => {
    await send('DELETE', `/v1/alert-mutes/${id}`);
    loaded.again();
  });
  const refused = refusal('configure');
  const liftOf = ({ id }: Mute): JSX.Element => (
    <Act refused={refused} isBusy={lift.isBusy} onAct={() => lift.run(id)}>
      {say('settings.lift')}
    </Act>
  );
  return (
    <Show loaded={loaded}>
      {({ items, schema }) => (
        <>
          <Listing
            items={items}
            empty={say('settings.no-mutes')}
            caption={say('settings.mutes')}
            columns={columns(liftOf)}
            keyOf={({ id }) => id}
          />
          <Problems trouble={lift.trouble} />
          <Card title={say('settings.mute')}>
            <Form onSend={mute.run}>
              <Fields schema={schema} value={draft.values} onSet={(next) => draft.set((next ?? {}) as Values)} />
              <Act tone="primary" refused={refused} isBusy={mute.isBusy}>
                {say('settings.mute')}
              </Act>
            </Form>
            <Problems trouble={mute.trouble} />
          </Card>
        </>
      )}
    </Show>
  );
}
