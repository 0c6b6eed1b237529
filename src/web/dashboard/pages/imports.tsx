/**
 * Bills, usage and price lists as files: sending one, the results of those sent, and the rows that could not be read.
 */
import type { JSX, RefObject } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { USAGE_FORMATS } from '../../../core/format-names.js';
import type { Imported, Reject, StoredImport } from '../answers.js';
import { list, refusal } from '../api.js';
import { instantColumn } from '../columns.js';
import { count, percent } from '../format.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { LineProgress } from '../progress.js';
import { Rich } from '../rich.js';
import { link } from '../router.js';
import { Listing, type Column } from '../table.js';
import { Act, AsWritten, Card, Field, Form, Page, Problems, Select, Show, Unseen } from '../ui.js';
import { upload } from '../upload.js';

const columns = (): readonly Column<StoredImport>[] => [
  {
    name: say('column.file'),
    text: ({ file }) => file,
    cell: ({ id, file }) => <a href={link('imports', id)}>{file}</a>,
  },
  { name: say('column.format'), text: ({ format }) => format, isMinor: true },
  {
    name: say('column.rows'),
    text: ({ rows }) => String(rows),
    cell: ({ rows }) => count(rows),
    number: ({ rows }) => rows,
  },
  {
    name: say('column.accepted'),
    text: ({ accepted }) => String(accepted),
    cell: ({ accepted }) => count(accepted),
    number: ({ accepted }) => accepted,
  },
  {
    name: say('column.unchanged'),
    isMinor: true,
    text: ({ unchanged }) => String(unchanged),
    cell: ({ unchanged }) => count(unchanged),
    number: ({ unchanged }) => unchanged,
  },
  {
    name: say('column.rejected'),
    text: ({ rejected }) => String(rejected),
    number: ({ rejected }) => rejected,
    cell: ({ id, rejected }) => (rejected === 0 ? '0' : <a href={link('imports', id)}>{count(rejected)}</a>),
  },
  instantColumn(say('column.when'), ({ importedAt }) => importedAt),
  { name: say('column.by'), text: ({ importedBy }) => importedBy, isMinor: true },
];

export function Imports(): JSX.Element {
  const refused = refusal('read', true);
  const loaded = useLoaded('imports', async (halt) =>
    refused === null ? list<StoredImport>('/v1/imports', {}, halt, 500) : { items: [], more: false },
  );
  return (
    <Page title={say('page.imports')} lead={say('imports.lead')}>
      {refused === null ? (
        <>
          <Send onDone={loaded.again} />
          <Card title={say('imports.was')}>
            <Show loaded={loaded}>
              {({ items, more }) => (
                <Listing
                  items={items}
                  note={more ? say('newest.500') : null}
                  empty={<Rich of="imports.empty" given={{ a: (inner) => <a href="/docs#tag-usage">{inner}</a> }} />}
                  caption={say('page.imports')}
                  file="imports"
                  columns={columns()}
                  keyOf={({ id }) => id}
                />
              )}
            </Show>
          </Card>
        </>
      ) : (
        <Unseen why={refused} />
      )}
    </Page>
  );
}

const kinds = (): readonly (readonly [string, string])[] => [
  ['/v1/imports', say('imports.bill')],
  ['/v1/prices', say('imports.prices')],
];
const FORMATS = ['auto', ...USAGE_FORMATS] as const;

interface Sent {
  readonly files: readonly (Imported & {
    readonly rejects?: readonly { readonly line: number; readonly column: string | null; readonly reason: string }[];
  })[];
  readonly isDry: boolean;
}

function Send({ onDone }: { readonly onDone: () => void }): JSX.Element {
  const chosen = useRef<HTMLInputElement>(null);
  const [settings, set] = useState<Settings>({ kind: '/v1/imports', format: 'auto', isDry: false });
  const [share, setShare] = useState<number | null>(null);
  const [sent, setSent] = useState<Sent | null>(null);
  const { isBusy, trouble, run } = useTask(async () => {
    const file = chosen.current?.files?.[0];
    if (file === undefined) throw new Error(say('imports.choose'));
    const { kind, format, isDry } = settings;
    setSent(null);
    setShare(0);
    try {
      const { files } = await upload<{ readonly files: Sent['files'] }>(
        kind,
        { filename: file.name, format: kind === '/v1/prices' ? 'auto' : format, dryRun: isDry },
        file,
        setShare,
      );
      setSent({ files, isDry });
      if (!isDry) onDone();
    } finally {
      setShare(null);
    }
  });
  return (
    <Card title={say('imports.file')}>
      <Form onSend={run}>
        <SettingFields settings={settings} onSet={(change) => set({ ...settings, ...change })} chosen={chosen} />
        <Act tone="primary" refused={refusal('usage:write', true)} isBusy={isBusy}>
          {say('imports.do')}
        </Act>
      </Form>
      {share === null ? null : <Share share={share} />}
      <Problems trouble={trouble} />
      {sent === null ? null : <Came sent={sent} onDone={onDone} />}
    </Card>
  );
}

interface Settings {
  /** The path that takes it. */
  readonly kind: string;
  readonly format: string;
  readonly isDry: boolean;
}

/** Its kind, the file, and whether it is a dry run. */
function SettingFields({
  settings: { kind, format, isDry },
  onSet,
  chosen,
}: {
  readonly settings: Settings;
  readonly onSet: (change: Partial<Settings>) => void;
  readonly chosen: RefObject<HTMLInputElement | null>;
}): JSX.Element {
  return (
    <div class="fields">
      <Select label={say('imports.what')} value={kind} options={kinds()} onPick={(next) => onSet({ kind: next })} />
      {kind === '/v1/imports' ? (
        <Select
          label={say('column.format')}
          value={format}
          options={FORMATS.map((one) => [one, one === 'auto' ? say('imports.auto') : one])}
          onPick={(next) => onSet({ format: next })}
        />
      ) : null}
      <Field label={say('column.file')} note={say('imports.gzip')}>
        {(ids) => <input {...ids} ref={chosen} type="file" required />}
      </Field>
      <label class="check">
        <input type="checkbox" checked={isDry} onChange={() => onSet({ isDry: !isDry })} /> {say('imports.dry')}
      </label>
    </div>
  );
}

/** How much of the file was sent; then the server reads it. */
const Share = ({ share }: { readonly share: number }): JSX.Element => (
  <div class="progress">
    <progress max={1} value={share} aria-label={say('imports.share')} />
    <p role="status" aria-live="polite">
      {share < 1 ? say('imports.sent', { share: percent(share) }) : say('imports.reading')}
    </p>
  </div>
);

function Came({ sent: { files, isDry }, onDone }: { readonly sent: Sent; readonly onDone: () => void }): JSX.Element {
  return (
    <div role="status">
      <ul class="plain">
        {files.map((file) => (
          <li key={file.file}>
            <strong>{file.file}</strong> ({file.format}):{' '}
            {say('imports.came', {
              rows: file.rows,
              accepted: file.accepted,
              unchanged: file.unchanged,
              rejected: file.rejected,
            })}
            {isDry ? say('imports.was-dry') : ''}
            {file.rejects === undefined || file.rejects.length === 0 ? null : (
              <ul>
                {file.rejects.slice(0, 20).map(({ line, column, reason }) => (
                  <li key={line}>
                    {column === null ? say('imports.line', { line }) : say('imports.column', { line, column })}{' '}
                    <AsWritten>{reason}</AsWritten>
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
      {isDry ? null : <LineProgress onDone={onDone} />}
    </div>
  );
}

const rejectColumns = (): readonly Column<Reject>[] => [
  { name: say('column.line'), text: ({ line }) => String(line), number: ({ line }) => line },
  { name: say('column.column'), text: ({ column }) => column ?? '' },
  { name: say('column.why'), text: ({ reason }) => reason, cell: ({ reason }) => <AsWritten>{reason}</AsWritten> },
  { name: say('column.raw'), text: ({ raw }) => raw, cell: ({ raw }) => <code class="raw">{raw}</code> },
];

export function ImportPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`rejects ${id}`, (halt) =>
    list<Reject>(`/v1/imports/${encodeURIComponent(id)}/rejects`, {}, halt),
  );
  return (
    <Page
      title={say('imports.rejects', { id })}
      lead={loaded.data?.items[0]?.file}
      actions={<a href={link('imports')}>{say('imports.all')}</a>}
    >
      <Show loaded={loaded}>
        {({ items, more }) => (
          <>
            {items.length === 0 ? null : <p>{say('imports.correct')}</p>}
            <Listing
              items={items}
              note={more ? say('imports.many') : null}
              empty={say('imports.fine')}
              caption={say('imports.caption')}
              file={`rejects-${id}`}
              columns={rejectColumns()}
              keyOf={({ no }) => String(no)}
            />
          </>
        )}
      </Show>
    </Page>
  );
}
