/**
 * Hears a channel of PostgreSQL for as long as the process wants to, through lost connections and restarts of the
 * server.
 *
 * That somebody listens can be seen by all (`isHeard` of database.ts): a shared advisory lock stands for it. Notices
 * that were sent while nobody heard them are lost, so whoever listens is called once after each loss. Never ends the
 * process and never keeps it alive.
 */
import type { PoolClient } from 'pg';
import type { DataSource } from 'typeorm';

/** First half of the locks that stand for listeners; the second is of the channel. */
export const LISTENING = 740_621_804;

const RETRY_MILLISECONDS = 1000;

export class Listening {
  private close: () => Promise<void> = async () => undefined;
  private retry: ReturnType<typeof setTimeout> | null = null;
  private stopped = false;

  constructor(
    private readonly source: DataSource,
    private readonly channel: string,
    private readonly heard: () => void,
  ) {}

  /**
   * On a connection of its own. @throws Error where there is none to be had: only what was heard once is heard again
   */
  async open(): Promise<void> {
    const runner = this.source.createQueryRunner();
    const client = (await runner.connect()) as PoolClient;
    const onNotice = ({ channel }: { readonly channel: string }): void => {
      if (channel === this.channel) this.heard();
    };
    const onEnd = (): void => {
      void runner.release();
      this.hearAgain();
    };
    this.close = async () => {
      client.off('notification', onNotice).off('end', onEnd);
      await client.query(`unlisten ${this.channel}`).catch(() => undefined);
      await client
        .query(`select pg_advisory_unlock_shared($1, hashtext($2))`, [LISTENING, this.channel])
        .catch(() => undefined);
      await runner.release();
    };
    client.on('notification', onNotice).once('end', onEnd);
    try {
      await client.query(`listen ${this.channel}`);
      await client.query(`select pg_advisory_lock_shared($1, hashtext($2))`, [LISTENING, this.channel]);
    } catch (error) {
      await this.close();
      throw error;
    }
    // It was stopped while the server was slow to answer.
    if (this.stopped) await this.close();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    if (this.retry !== null) clearTimeout(this.retry);
    await this.close();
  }

  private hearAgain(): void {
    this.close = async () => undefined;
    if (this.retry !== null) clearTimeout(this.retry);
    if (this.stopped) return;
    this.retry = setTimeout(() => this.open().then(this.heard, () => this.hearAgain()), RETRY_MILLISECONDS).unref();
  }
}
