/**
 * The chart of a backtest as a file. It checks before the work begins that the file can be written, not after minutes
 * of work.
 */
import { constants } from 'node:fs';
import { access, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { BacktestReport } from '../core/policy/backtest.js';
import { missing } from '../core/errors.js';
import type { BacktestPlotter } from '../core/ports.js';
import { WrongUse } from './usage-error.js';

export interface PlotFile {
  /** Draws the report and writes it. */
  write(report: BacktestReport): Promise<void>;
}

/**
 * @param file ends in .svg or .png
 * @throws WrongUse for a file of another kind or a place where none can be written, Failure missing where nothing draws
 */
export async function plotFile(file: string, plotter: BacktestPlotter | undefined): Promise<PlotFile> {
  const wrong = (message: string): WrongUse =>
    new WrongUse('the picture cannot be written', [{ path: '--plot', message }]);
  const format = path.extname(file).toLowerCase();
  if (format !== '.svg' && format !== '.png') throw wrong('is neither a .svg nor a .png file');
  const there = await stat(file).catch(() => null);
  if (there?.isDirectory() === true) throw wrong(`${file} is a folder`);
  await access(there === null ? path.dirname(path.resolve(file)) : file, constants.W_OK).catch(() => {
    throw wrong(there === null ? `the folder of ${file} does not exist or is not writable` : `${file} is not writable`);
  });
  if (plotter === undefined) throw missing('this program draws no pictures');
  return { write: async (report) => writeFile(file, await plotter.plot(report, format === '.svg' ? 'svg' : 'png')) };
}
