// One cell of the attack matrix: an attack of one kind against one target, which must not succeed.

export interface AttackCell {
  /** For example `npx -y package`, or `grant for "git status"`. */
  readonly row: string;
  /** For example `node_modules/.bin has the package`, or `git status; rm -rf x`. */
  readonly column: string;
  /** Runs the attack against the built product or the library and asserts that it failed. */
  run(): Promise<void>;
}
