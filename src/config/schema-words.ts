// What the schemas of a configuration file have in common. Loaded with `schema.ts` only.
import * as z from "zod/v4";

export const text: z.ZodString = z.string().min(1);

export const references = "Takes ${VAR}, ${VAR:-default}, {env:VAR} and {file:path}; write $${ for a literal ${.";
export const secretReferences: string = `${references} In the user's own configuration also "!command" and "keyring:name".`;
