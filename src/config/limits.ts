// The limits of `config`, each with its unit in the name and its reason beside it.

export const CONFIG_LIMITS = {
  /** A configuration file: real ones have a few KB; a link to something endless must end somewhere. */
  configMaxBytes: 1_048_576,
  /** Nesting of a configuration file: the parser is recursive, and the deepest key there is lies five levels down. */
  configMaxDepth: 64,
  /** Sentences about one broken configuration file; the rest follows from the first ones. */
  configMaxProblems: 20,
  /** After a configuration file changed: editors write in several steps. */
  configQuietMs: 100,
  /** Editing a configuration file: how often one looks whether another process is done, and for how long. */
  configLock: { everyMs: 50, waitMs: 5_000 },
  /** Server entries that a program hands over at once: more are a mistake, and each costs a process. */
  givenServers: 1_000,
  /** Addresses of `gateway.notify`: a person has a few devices. */
  notifyTargets: 8,
  /** How long the other servers wait for one whose secret is still being fetched. */
  secretPatienceMs: 1_000,
} as const;
