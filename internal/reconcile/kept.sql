-- what is kept of the comparisons, by provider
select provider, compared_at, since, coalesce(objects, 0), coalesce(found, '[]'), coalesce(more, false), coalesce(stranger, false),
  failed_at, coalesce(error, '')
from payfold.reconciled
order by provider
