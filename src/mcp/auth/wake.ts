// Notices that somebody has logged in to a server that refused us: then it is worth trying again.
import type { TenonError } from "../../base/errors.js";
import { messageOf } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";
import { isRemote, type ServerSpec } from "../spec.js";
import type { OAuthOptions } from "./port.js";
import { resourceOf } from "./resource.js";

/** The part of a connection's options that log-ins need. */
export interface LoginWatch {
  readonly world: World;
  readonly oauth?: OAuthOptions;
}

/** Calls back when a log-in may have appeared, as long as it is not disposed of. Nothing where that would be no cure. */
export function watchForLogin(
  spec: ServerSpec,
  { oauth }: LoginWatch,
  { cause, onChange }: { readonly cause: TenonError | undefined; readonly onChange: () => void },
): Disposable | undefined {
  const resource = curable(spec, oauth, cause);
  if (!oauth?.store.watch || resource === undefined) return undefined;
  const watch = oauth.store.watch(resource, oauth.account, onChange);
  return { [Symbol.dispose]: () => watch.close() };
}

/** Whether there is a log-in now for a server that refused us. Never rejects. */
export async function hasLogin(spec: ServerSpec, options: LoginWatch, cause: TenonError): Promise<boolean> {
  const { oauth, world } = options;
  const resource = curable(spec, oauth, cause);
  if (!oauth || resource === undefined) return false;
  try {
    return (await oauth.store.find(resource, oauth.account)).length > 0;
  } catch (thrown) {
    world.log.warn("oauth.unread", { server: spec.name, error: messageOf(thrown) });
    return false;
  }
}

function curable(spec: ServerSpec, oauth: OAuthOptions | undefined, cause: TenonError | undefined): string | undefined {
  const isCurable = oauth !== undefined && cause?.code === "mcp.unauthorized" && isRemote(spec);
  return isCurable ? resourceOf(spec.url) : undefined;
}
