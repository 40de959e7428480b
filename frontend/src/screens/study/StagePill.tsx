import type { Schemas } from "../../api/client";
import { Badge } from "../../ui/Badge";
import { useNow } from "../../ui/Time";
import { pill } from "./doing";

interface Props {
  of: { stage: Schemas["Stage"]; since: string | null };
}

/** What a cohort is at now. */
export function StagePill({ of: { stage, since } }: Props) {
  return <Badge said={pill(stage, since, useNow())} />;
}
