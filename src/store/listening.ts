/**
 * Listens to a channel of PostgreSQL for as long as the process wants to, through lost connections and restarts of the
 * server. It uses its own connection, outside the pool. A shared advisory lock shows to all that a process listens
 * (`isHeard` of database.ts). Notifications that were sent while nobody listened are lost, so the listener is called
 * once after each loss. Never ends the process and never keeps it alive.
 */
import { Client, type ClientConfig } from 'pg';

/** First half of the locks that stand for listeners; the second is of the channel. */
export const LISTENING = 740_621_804;

const RETRY_MILLISECONDS = 1000;

export class Listening {
  private client: Client | null = null;
  private retry: ReturnType<typeof setTimeout> | null = null;
  private stopped = false;

  constructor(
    private readonly options: ClientConfig,
    private readonly connected: (client: Client) => Promise<void>,
    private readonly channel: string,
    private readonly heard: () => void,
  ) {}

  /** @throws Error where there is no connection to be had: only what was heard once is heard again */
  async open(): Promise<void> {
    const client = new Client(this.options);
    // 'end' follows, and is what is acted on.
    client.on('error', () => undefined);
    try {
      await client.connect();
      await this.connected(client);
      await client.query(`listen ${this.channel}`);
      await client.query(`select pg_advisory_lock_shared($1, hashtext($2))`, [LISTENING, this.channel]);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    // It was stopped while the server was slow to answer.
    if (this.stopped) return client.end();
    this.client = client;
    client.on('notification', ({ channel }) => {
      if (channel === this.channel) this.heard();
    });
    client.once('end', () => this.hearAgain());
  }

  async stop(): Promise<void> {
    this.stopped = true;
    if (this.retry !== null) clearTimeout(this.retry);
    await this.client?.end().catch(() => undefined);
  }

  private hearAgain(): void {
    this.client = null;
    if (this.retry !== null) clearTimeout(this.retry);
    if (this.stopped) return;
    this.retry = setTimeout(() => this.open().then(this.heard, () => this.hearAgain()), RETRY_MILLISECONDS).unref();
  }
}
