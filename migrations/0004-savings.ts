/** Reserved for what the savings need; see the file's final text. */
import type { MigrationInterface } from 'typeorm';

export class Savings1764000000004 implements MigrationInterface {
  async up(): Promise<void> {}

  async down(): Promise<void> {}
}
