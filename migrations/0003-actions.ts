/** Reserved for what the actions need; see the file's final text. */
import type { MigrationInterface } from 'typeorm';

export class Actions1764000000003 implements MigrationInterface {
  async up(): Promise<void> {}

  async down(): Promise<void> {}
}
