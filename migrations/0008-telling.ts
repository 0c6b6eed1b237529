/** Reserved for what the telling need; see the file's final text. */
import type { MigrationInterface } from 'typeorm';

export class Telling1764000000008 implements MigrationInterface {
  async up(): Promise<void> {}

  async down(): Promise<void> {}
}
