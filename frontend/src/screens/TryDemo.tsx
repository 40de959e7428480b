import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "react-router";

import { answer, api } from "../api/client";
import { demo } from "../api/queries";
import { useChange } from "../api/changes";
import { Button } from "../ui/Button";
import { Refusal } from "../ui/Callout";
import { Muted, Stack } from "../ui/Layout";
import { declared, t } from "../words/language";

/** A study that the platform makes and takes part in itself, to watch. Nothing where that is not permitted. */
export function TryDemo() {
  const { data: found } = useQuery(demo);
  const navigate = useNavigate();
  const begin = useChange(() => answer(api.POST("/api/v1/demo")));
  if (!found?.permitted) return null;
  const start = async () => {
    const made = await begin.mutateAsync().catch(() => null); // the refusal is shown
    if (made) await navigate(`/studies/${made.id}/progress`);
  };
  const blocked =
    declared(found.lacking) || (found.running ? t("A demo study is running. There is one at a time.") : "");
  return (
    <Stack>
      <p>
        {t(
          "Watch a study first: the platform generates three cohorts, runs a client for each on its own machine, and you see all of it, from its progress to its results, in about a minute.",
        )}
      </p>
      <Refusal error={begin.error} />
      <div>
        <Button
          disabled={blocked !== ""}
          busy={begin.isPending}
          onClick={start}
          aria-describedby="why-no-demo"
        >
          {t("Try a demo study")}
        </Button>
      </div>
      {blocked && (
        <div id="why-no-demo">
          <Muted>{blocked}</Muted>
        </div>
      )}
    </Stack>
  );
}
