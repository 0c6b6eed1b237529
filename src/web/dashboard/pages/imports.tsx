/** Bills, usage and price lists as files: sending one, what came of those that were sent, and the rows that could not be read. */
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Imported, Reject, StoredImport } from '../answers.js';
import { list, refusal } from '../api.js';
import { count, instant, percent } from '../format.js';
import { useLoaded, useTask } from '../loading.js';
import { LineProgress } from '../progress.js';
import { link } from '../router.js';
import { Table, type Column } from '../table.js';
import { Act, Card, Empty, Field, Page, Problems, Select, Show } from '../ui.js';
import { upload } from '../upload.js';

const columns: readonly Column<StoredImport>[] = [
  { name: 'File', text: ({ file }) => file, cell: ({ id, file }) => <a href={link('imports', id)}>{file}</a> },
  { name: 'Format', text: ({ format }) => format },
  { name: 'Rows', text: ({ rows }) => String(rows), cell: ({ rows }) => count(rows), number: ({ rows }) => rows },
  { name: 'Accepted', text: ({ accepted }) => String(accepted), cell: ({ accepted }) => count(accepted), number: ({ accepted }) => accepted },
  { name: 'Unchanged', text: ({ unchanged }) => String(unchanged), cell: ({ unchanged }) => count(unchanged), number: ({ unchanged }) => unchanged },
  { name: 'Rejected', text: ({ rejected }) => String(rejected), number: ({ rejected }) => rejected, cell: ({ id, rejected }) => (rejected === 0 ? '0' : <a href={link('imports', id)}>{count(rejected)}</a>) },
  { name: 'When', text: ({ importedAt }) => importedAt, cell: ({ importedAt }) => instant(importedAt) },
  { name: 'By', text: ({ importedBy }) => importedBy },
];

export function Imports(): JSX.Element {
  const refused = refusal('viewer', true);
  const loaded = useLoaded('imports', async (halt) => (refused === null ? list<StoredImport>('/v1/imports', {}, halt, 500) : { items: [], more: false }));
  return (
    <Page title="Imports" lead="The same file again changes nothing; a restated bill replaces its period">
      {refused === null ? <><Send onDone={loaded.again} />
        <Card title="What was imported"><Show loaded={loaded}>{({ items, more }) => (items.length === 0 ? <Empty>Nothing was imported yet: choose a file above, or send usage to <a href="/docs#tag-usage">/v1/usage</a>.</Empty>
          : <>{more ? <p class="warning">The newest 500 are listed.</p> : null}<Table caption="Imports" file="imports" columns={columns} rows={items} keyOf={({ id }) => id} isCaptionHidden /></>)}</Show></Card></>
        : <Empty>Imports are not shown to you: this {refused}.</Empty>}
    </Page>
  );
}

const KINDS = [['/v1/imports', 'A bill or usage'], ['/v1/prices', 'A price list']] as const;
const FORMATS = ['auto', 'focus', 'aws-cur', 'azure-ea', 'oci', 'cloudevents', 'bursar'] as const;

interface Sent { readonly files: readonly (Imported & { readonly rejects?: readonly { readonly line: number; readonly column: string | null; readonly reason: string }[] })[]; readonly isDry: boolean }

function Send({ onDone }: { readonly onDone: () => void }): JSX.Element {
  const chosen = useRef<HTMLInputElement>(null);
  const [kind, setKind] = useState<string>('/v1/imports');
  const [format, setFormat] = useState<string>('auto');
  const [isDry, setDry] = useState(false);
  const [share, setShare] = useState<number | null>(null);
  const [sent, setSent] = useState<Sent | null>(null);
  const { isBusy, trouble, run } = useTask(async () => {
    const file = chosen.current?.files?.[0];
    if (file === undefined) throw new Error('Choose a file first.');
    setSent(null);
    setShare(0);
    try {
      const { files } = await upload<{ readonly files: Sent['files'] }>(kind, { filename: file.name, format: kind === '/v1/prices' ? 'auto' : format, dryRun: isDry }, file, setShare);
      setSent({ files, isDry });
      if (!isDry) onDone();
    } finally {
      setShare(null);
    }
  });
  return (
    <Card title="Import a file">
      <form onSubmit={(event) => { event.preventDefault(); run(); }}>
        <div class="fields">
          <Select label="What it is" value={kind} options={KINDS} onPick={setKind} />
          {kind === '/v1/imports' ? <Select label="Format" value={format} options={FORMATS.map((one) => [one, one])} onPick={setFormat} /> : null}
          <Field label="File" note="plain or gzip">{(ids) => <input {...ids} ref={chosen} type="file" required />}</Field>
          <label class="check"><input type="checkbox" checked={isDry} onChange={() => setDry(!isDry)} /> Only look: write nothing</label>
        </div>
        <Act tone="primary" refused={refusal('operator', true)} isBusy={isBusy} onAct={run}>Import</Act>
      </form>
      {share === null ? null : <div class="progress"><progress max={1} value={share} aria-label="Of the file that is sent" /><p role="status" aria-live="polite">{share < 1 ? `${percent(share)} sent` : 'Sent; it is being read …'}</p></div>}
      <Problems trouble={trouble} />
      {sent === null ? null : <Came sent={sent} onDone={onDone} />}
    </Card>
  );
}

function Came({ sent: { files, isDry }, onDone }: { readonly sent: Sent; readonly onDone: () => void }): JSX.Element {
  return (
    <div role="status">
      <ul class="plain">{files.map((file) => (
        <li key={file.file}><strong>{file.file}</strong> ({file.format}): {count(file.rows)} rows, {count(file.accepted)} accepted, {count(file.unchanged)} unchanged, {count(file.rejected)} rejected{isDry ? '; nothing was written' : ''}
          {file.rejects === undefined || file.rejects.length === 0 ? null : <ul>{file.rejects.slice(0, 20).map(({ line, column, reason }) => <li key={line}>line {line}{column === null ? '' : `, ${column}`}: {reason}</li>)}</ul>}</li>
      ))}</ul>
      {isDry ? null : <LineProgress onDone={onDone} />}
    </div>
  );
}

const rejectColumns: readonly Column<Reject>[] = [
  { name: 'Line', text: ({ line }) => String(line), number: ({ line }) => line }, { name: 'Column', text: ({ column }) => column ?? '' }, { name: 'Why', text: ({ reason }) => reason },
  { name: 'The row as it came', text: ({ raw }) => raw, cell: ({ raw }) => <code class="raw">{raw}</code> },
];

export function ImportPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`rejects ${id}`, (halt) => list<Reject>(`/v1/imports/${encodeURIComponent(id)}/rejects`, {}, halt));
  return (
    <Page title={`Rejects of import ${id}`} lead={loaded.data?.items[0]?.file} actions={<a href={link('imports')}>All imports</a>}>
      <Show loaded={loaded}>{({ items, more }) => (items.length === 0 ? <Empty>Every row of this import could be read.</Empty>
        : <>{more ? <p class="warning">The first thousand are listed.</p> : null}<p>Correct these rows where they come from and import the file again: what was accepted stays as it is.</p><Table caption="Rows that could not be read" file={`rejects-${id}`} columns={rejectColumns} rows={items} keyOf={({ no }) => String(no)} isCaptionHidden /></>)}</Show>
    </Page>
  );
}
