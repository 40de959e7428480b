import { useMe } from "../../app/session";
import { DownloadLink } from "../../ui/Button";
import { Muted } from "../../ui/Layout";
import { TryDemo } from "../TryDemo";
import { t } from "../../words/language";

export function TryIt() {
  if (useMe().role === "observer") {
    return (
      <Muted>
        {t("Coordinators can run a demo study, and download example data. You watch studies of others.")}
      </Muted>
    );
  }
  return (
    <>
      <p>{t("You need no real data to see how a study goes: either way, the data are generated.")}</p>
      <TryDemo />
      <p>
        {t(
          "Or be the cohorts yourself, with clients that you start: these are PLINK files of three cohorts, with a README that says how to take part. Create a study of the test chi-square for three cohorts, and invite Graz, Munich and Tartu.",
        )}
      </p>
      <div>
        <DownloadLink href="/api/v1/example">{t("Download example data (ZIP, 3 MB)")}</DownloadLink>
      </div>
    </>
  );
}
