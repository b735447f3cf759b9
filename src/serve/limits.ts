// The limits of `serve`, each with its unit in the name and its reason beside it.

export const SERVE_LIMITS = {
  /** One message over HTTP: the same as one of the gateway. */
  bodyMaxBytes: 16_777_216,
  /** Requests of one client without an answer yet; agents have a handful. */
  requestsAtOnce: 64,
  /** Clients at a time, of all tokens and of one: each has servers of its own. */
  clients: { inAll: 64, perToken: 16 },
  /** A client over HTTP without any request or stream open is forgotten after this, and its servers end. */
  idleMs: 1_800_000,
  /** How long a person may take to answer; the same as for calls that are held. */
  askMs: 600_000,
  /** What a client names and nobody has may be of a server that still starts: this long is waited for it. */
  startMs: 10_000,
  /** Streams of change notices of one client. */
  listeners: 32,
  /** Resources that one client follows. */
  followedResources: 256,
  /** For this long a list of resources or prompts is good enough to know whose an entry is. */
  recentListMs: 5_000,
  /** Entries of one page of a list. */
  pageEntries: 1_000,
  /** After a change, time for the rest of it to come: clients list all tools again. */
  changeMs: 100,
  /** An event stream that is silent for this long gets a comment: proxies cut idle ones after 55 s. */
  keepAliveMs: 15_000,
  /** Sent over an event stream and not yet taken by the network: a client that reads no more is gone. */
  unsentMaxBytes: 67_108_864,
  /** How long lists may be kept by a client: changes are told, so this is for those that do not listen. */
  listTtlMs: 5_000,
} as const;
