// The limits of `postgres`, each with its unit in the name and its reason beside it.

export const POSTGRES_LIMITS = {
  /** The oldest PostgreSQL that is served: older ones get no updates any more. */
  minServerVersion: 14,
  /** Connections for reads and small changes. Appends, the lease and the inbox have connections of their own. */
  poolConnections: 8,
  /** A database that does not take a connection by then is away. */
  connectMs: 3_000,
  /** One statement, at the database and here. Long reads are made in pages. */
  statementMs: 30_000,
  /** For another node that brings the tables up to date; then this one gives up and says so. */
  migrateMs: 60_000,
  /** Of a kept result, in one row: a range of it is read in one go. */
  keptPartBytes: 1_048_576,
  /** A result waits so long for a database that is away, and looks again every so often; then it is kept in memory. */
  keptWaitMs: 5_000,
  keptRetryMs: 200,
  /** How often each node looks whether tokens changed: connections of a revoked one end within a second. */
  tokenPollMs: 400,
  /** Changes of tokens or codes that others made first, in a row. */
  changeTries: 50,
} as const;
