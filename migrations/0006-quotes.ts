/** Reserved for what the quotes need; see the file's final text. */
import type { MigrationInterface } from 'typeorm';

export class Quotes1764000000006 implements MigrationInterface {
  async up(): Promise<void> {}

  async down(): Promise<void> {}
}
