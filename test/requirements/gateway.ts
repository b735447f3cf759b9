// Requirements of the gateway: G3xx who gets in, and the server; G45x the terminal, lists and notices.

export const GATEWAY_REQUIREMENTS = [
  // G300 to G349: access and server.
  {
    id: "G300",
    text: "ACP over WebSocket and over Streamable HTTP at /acp, at an address with or without TLS and at a unix socket",
  },
  {
    id: "G301",
    text: "over TCP every connection needs a bearer token; Host, Origin and token are checked before any body is read, and refusals give no detail",
  },
  { id: "G302", text: "a token is shown once, kept as a hash, bound to an account and scopes, and expires" },
  {
    id: "G303",
    text: "a revoked or expired token ends its connections within a second, also when another process revoked it",
  },
  { id: "G304", text: "every method needs a scope; what is denied names the scope and has no effect" },
  { id: "G305", text: "connections, requests, heads, bodies and frames are bounded in size, number and time" },
  { id: "G306", text: "a client that does not read, answer pings or send initialize is let go and delays nobody" },
  { id: "G307", text: "messages that are none are answered with id null; twenty in a minute end the connection" },
  { id: "G308", text: "an HTTP connection id is of use to the token that made it only" },
  { id: "G309", text: "log-ins, refusals, denials and tokens are in a bounded audit file, without contents" },
  {
    id: "G310",
    text: "a gateway listens only after its certificates, its socket folder and its port were found to be in order",
  },
  { id: "G311", text: "/healthz, /readyz and /metrics answer without revealing sessions" },
  { id: "G312", text: "tenon gateway token creates, lists and revokes tokens" },
  { id: "G313", text: "no token and no environment of a client is in state, log, journal or trace" },
  // G450 to G499: in the terminal, in lists, and elsewhere.
  {
    id: "G456",
    text: "gateway.notify posts in the forms json, ntfy and slack when a question has waited, and when a turn ended or failed with no client attached; no contents unless the user says so",
  },
  {
    id: "G457",
    text: "a server of gateway.notify that fails, hangs or refuses is tried three times, logged once without its address, never waited for by a session, and never piled up for",
  },
  {
    id: "G458",
    text: "gateway.notify is read from the user's own configuration only, takes references for address and token, and is not sent over plain http to another machine",
  },
] as const;
