// Whose log-ins a server may use: a project's and a client's are kept apart from the user's own.
import { hashJson } from "../../base/json/hash.js";
import type { OAuthSettings } from "../../mcp/index.js";

export interface AccountOwner {
  readonly origin: "user" | "project" | "client";
  /** What the user's entry names. */
  readonly account?: string | undefined;
  /** The project's real path, for a project's server. */
  readonly project?: string | undefined;
  /** What its entry says about logging in. */
  readonly oauth?: Pick<OAuthSettings, "clientId"> | undefined;
}

/**
 * The account in a grant's key. A project that names a server of the user's gets none of its tokens, and one that is moved
 * or copied none of the other's: each is logged in for itself. An editor's servers have log-ins of their own too, the same
 * for every editor: what an editor hands over may come from a project's files. A client of one's own is part of it too: a
 * log-in as another client is none as this one.
 */
export function grantAccount(owner: AccountOwner): string {
  const clientId = owner.oauth?.clientId;
  return clientId === undefined ? grantPerson(owner) : `${grantPerson(owner)} as ${clientId}`;
}

/** Whoever logs in at an identity provider, which is the same for all their servers, as whichever client. */
export function grantPerson({ origin, account, project }: AccountOwner): string {
  switch (origin) {
    case "user":
      return account ?? "default";
    case "project":
      return `@project-${hashJson({ project: project ?? null }).slice(0, 16)}`;
    case "client":
      return "@client";
  }
}
