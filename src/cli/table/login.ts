// `tenon mcp login` and `tenon mcp logout`.
import { type Command, command, JSON_OPTION } from "./command.js";

const SUBJECT = {
  name: "SERVER",
  summary: "its name in tenon mcp list, or the address of one that an editor hands over",
  completes: "server",
} as const;
const ACCOUNT_OPTION = {
  type: "string",
  value: "NAME",
  summary: 'one of several log-ins at the server; the entry\'s "account" chooses between them',
} as const;

export const LOGIN: Command = command({
  name: "login",
  summary: "log in to a remote server",
  details: [
    "Shows the address of the log-in page in full, opens it in your browser, and waits for the browser to come back. If your browser is on another machine, paste the address it ends at. Open sessions that were refused use the log-in from their next call on. Exit code 4 when it came to nothing.",
  ],
  arguments: [SUBJECT],
  options: {
    json: JSON_OPTION,
    "no-browser": { type: "boolean", summary: "only print the address; you open it" },
    device: { type: "boolean", summary: "type a code on any device instead, where the server offers it" },
    account: ACCOUNT_OPTION,
    timeout: { type: "string", value: "SECONDS", summary: "give up after this; 600 unless given" },
  },
  examples: [
    { line: "tenon mcp login linear", does: "logs in with the browser of this machine" },
    {
      line: "tenon mcp login linear --no-browser",
      does: "prints the address and takes the pasted answer, over SSH say",
    },
    {
      line: "tenon mcp login linear --account work",
      does: 'makes a second log-in, for the entry with "account": "work"',
    },
  ],
  load: async () => (await import("../login/login.js")).runLogin,
});

export const LOGOUT: Command = command({
  name: "logout",
  summary: "forget the log-in at a remote server, and have it revoked there where that is offered",
  arguments: [SUBJECT],
  options: { json: JSON_OPTION, account: ACCOUNT_OPTION },
  examples: [{ line: "tenon mcp logout linear", does: "removes the tokens here and revokes them there" }],
  load: async () => (await import("../login/logout.js")).runLogout,
});
