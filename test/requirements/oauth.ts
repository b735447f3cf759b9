// What must hold of logging in to remote servers (issue 8).

export const OAUTH_REQUIREMENTS = [
  {
    id: "U1",
    text: "the server's and the authorization server's metadata (OAuth and OpenID) are found, and Tenon is known there by registration, by its own document or as the client the user registered",
  },
  { id: "U2", text: "tenon mcp login finishes through a loopback listener that the browser comes back to" },
  { id: "U3", text: "where no browser can come back, the pasted URL finishes the log-in" },
  {
    id: "U4",
    text: "in ACP the log-in page reaches the person through URL elicitation; a client without it gets a notice with the command",
  },
  { id: "U5", text: "client credentials, by secret and by signed assertion, log in without a person" },
  { id: "U6", text: "the device flow shows page and code, and waits as long as it is told to" },
  { id: "U7", text: "a tool that needs another scope leads to one log-in with all scopes together, and then works" },
  {
    id: "U8",
    text: "a response of another issuer, without its issuer, with another state, metadata of another issuer, or a mix-up of two servers ends the log-in, and the code is sent to nobody",
  },
  { id: "U9", text: "metadata that leads to internal addresses is refused without a single connection to them" },
  {
    id: "U10",
    text: "only http and https pages are opened, shown in full before, as one argument and never through a shell",
  },
  {
    id: "U11",
    text: "a token that is revoked or cannot be renewed mid-session makes a tool error that says so and what to do; the next call after the log-in works without restarting anything",
  },
  { id: "U12", text: "two accounts at one server are two log-ins, each used where it is named" },
  { id: "U13", text: "five parallel calls after expiry make one refresh and lose no token" },
  {
    id: "U14",
    text: "three processes that refresh at once make one refresh and lose no token; a loser never wipes the winner's",
  },
  { id: "U15", text: "tokens, codes and secrets are in no output, log, journal, trace or argument" },
  { id: "U16", text: "log-ins are kept under a key in the system's keyring, else in an encrypted file of mode 0600" },
  {
    id: "U17",
    text: "tenon mcp logout revokes at the server and forgets here, also when the server cannot be reached",
  },
  {
    id: "U18",
    text: "an authorization server that is slow, endless, broken or redirects costs a bounded wait and a clear message",
  },
] as const;
